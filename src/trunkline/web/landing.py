"""What a browser gets at a repository's own URL."""

from __future__ import annotations

import os
import shlex
import time
from urllib.parse import quote

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.changelog import ChangesetText
from trunkline.hg.store.view import View
from trunkline.hg.store.visibility import FILTERS
from trunkline.hg.wire.served import Served
from trunkline.web.pages import Head, Page, repository_page

HEADS_SHOWN = 20
SUMMARY_LENGTH = 100  # characters
BRIDGED = "This repository is read through the installed Mercurial, so no heads are shown."


def landing_page(served: Served, url_path: str, base_url: str, may_pull: bool = True) -> Page:
    """`url_path` without slashes at its ends; `base_url` ends without one."""
    config = served.config
    fallback = url_path or os.path.basename(served.root)
    name = config.text("web", "name", untrusted=True) or fallback
    description = config.text("web", "description", untrusted=True)
    command = clone_command(config, url_path, base_url, served.root) if may_pull else ""
    snapshot = served.snapshot()
    if snapshot is None:
        return repository_page(name, description, command, [], False, BRIDGED)
    heads, is_more = latest_heads(snapshot.view(view_name(config)))
    note = "" if heads else "No changesets yet."
    return repository_page(name, description, command, heads, is_more, note)


def view_name(config: HgConfig) -> str | None:
    """What pages show: `web.view`. None: everything, which only "all" asks for.

    Source: hg 7.2.4, hgweb/hgweb_mod.py (getwebview).
    """
    name = config.text("web", "view", "served", untrusted=True)
    if name == "all":
        return None
    return name if name in FILTERS else "served"


def clone_command(config: HgConfig, url_path: str, base_url: str, root: str) -> str:
    """For a shell. Of a URL without a path `hg` can't tell how to name the clone."""
    base = config.text("web", "baseurl", untrusted=True).rstrip("/") or base_url
    words = ["hg", "clone", f"{base}/{quote(url_path, errors='surrogateescape')}"]
    if not url_path:
        name = os.path.basename(root)
        words.append(f"./{name}" if name.startswith("-") else name or "repository")
    return shlex.join(words)


def latest_heads(view: View) -> tuple[list[Head], bool]:
    """The newest first, and whether there are more of them."""
    revs = view.graph.heads[::-1]
    changelog = view.snapshot.changelog
    shown = [
        describe(changelog.node(int(rev)), changelog.entry(int(rev))) for rev in revs[:HEADS_SHOWN]
    ]
    return shown, len(revs) > HEADS_SHOWN


def describe(node: bytes, text: ChangesetText) -> Head:
    lines = text.description.decode("utf-8", "replace").splitlines() or [""]
    return Head(
        node=node.hex()[:12],
        branch=text.branch.decode("utf-8", "replace"),
        user=person(text.user.decode("utf-8", "replace")),
        date=format_date(text.date),
        summary=lines[0][:SUMMARY_LENGTH],
        is_closed=text.closed,
    )


def person(user: str) -> str:
    """The name alone: addresses on a page are for spammers."""
    name = user.partition("<")[0].strip() or user.strip("<> ")
    return name.partition("@")[0]


def format_date(date: bytes) -> str:
    """`date` as `ChangesetText` has it, in the committer's own zone."""
    try:
        seconds, west = (float(word) for word in date.split()[:2])
        return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds - west))
    except (ValueError, OverflowError, OSError):
        return "?"
