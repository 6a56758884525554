"""What a browser gets at a repository's own URL."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from urllib.parse import quote

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.changelog import ChangesetText
from trunkline.hg.store.view import View
from trunkline.hg.store.visibility import FILTERS
from trunkline.hg.wire.served import Served
from trunkline.web.pages import Head, Link, Page, repository_page

HEADS_SHOWN = 20
LABELS_SHOWN = 10  # of one head
SUMMARY_LENGTH = 100  # characters
BRIDGED = "This repository is read through the installed Mercurial, so no heads are shown."


def landing_page(
    served: Served,
    url_path: str,
    base_url: str,
    may_pull: bool = True,
    links: Sequence[Link] = (),
) -> Page:
    """`url_path` without slashes at its ends; `base_url` ends without one; `links` lead up."""
    config = served.config
    fallback = url_path or os.path.basename(served.root)
    name = config.text("web", "name", untrusted=True) or fallback
    description = config.text("web", "description", untrusted=True)
    command = clone_command(config, url_path, base_url, served.root) if may_pull else ""
    snapshot = served.snapshot()
    if snapshot is None:
        return repository_page(name, description, command, [], False, BRIDGED, links)
    heads, is_more = latest_heads(snapshot.view(view_name(config)))
    note = "" if heads else "No changesets yet."
    return repository_page(name, description, command, heads, is_more, note, links)


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
    labels = labels_of(view)
    shown = []
    for rev in revs[:HEADS_SHOWN]:
        node = changelog.node(int(rev))
        shown.append(describe(node, changelog.entry(int(rev)), tuple(labels.get(node, ()))))
    return shown, len(revs) > HEADS_SHOWN


def labels_of(view: View) -> dict[bytes, list[str]]:
    """Bookmarks and tags of each node, in the order of their names."""
    labels: dict[bytes, list[str]] = {}
    for names in (view.bookmarks, view.tags):
        for name, node in sorted(names.items()):
            labels.setdefault(node, []).append(name.decode("utf-8", "replace"))
    return labels


def describe(node: bytes, text: ChangesetText, labels: tuple[str, ...] = ()) -> Head:
    lines = text.description.decode("utf-8", "replace").splitlines() or [""]
    return Head(
        node=node.hex()[:12],
        branch=text.branch.decode("utf-8", "replace"),
        user=person(text.user.decode("utf-8", "replace")),
        date=format_date(text.date),
        summary=lines[0][:SUMMARY_LENGTH],
        is_closed=text.closed,
        labels=labels[:LABELS_SHOWN],
    )


def person(user: str) -> str:
    """The name alone: addresses on a page are for spammers."""
    name = user.partition("<")[0].strip() or user.strip("<> ")
    return name.partition("@")[0]


def format_date(date: bytes) -> str:
    """`date` as `ChangesetText` has it, in the committer's own zone."""
    try:
        seconds, west = (float(word) for word in date.split()[:2])
        minutes = int(-west) // 60
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
        return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds - west)) + " " + zone
    except (ValueError, OverflowError, OSError):
        return "?"
