"""Pages for people: the list of repositories, one repository, and what wasn't found."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, select_autoescape

LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # of a name on disk that isn't UTF-8


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    html: bytes

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", content_security_policy()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"same-origin"),
            (b"cache-control", b"no-cache"),
            (b"vary", b"accept"),
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """One repository of a list; `path` is its URL path without slashes at its ends.

    `href` leads there from `/`; a page elsewhere puts its way up in front. So a server that a proxy
    has below a path of its own needs to know nothing of that.
    """

    path: str
    name: str
    description: str

    @property
    def href(self) -> str:
        return (quote(self.path, errors="surrogateescape") or ".") + "/"


@dataclass(frozen=True, slots=True)
class Head:
    """One head of a repository."""

    node: str  # 12 hex digits
    branch: str
    user: str
    date: str
    summary: str
    is_closed: bool = False
    labels: tuple[str, ...] = ()  # bookmarks and tags


@dataclass(frozen=True, slots=True)
class Link:
    """`href` is relative to the page, as in `Row`."""

    text: str
    href: str


def way_up(url_path: bytes) -> str:
    """From the path that was asked for, as it was sent, to `/`."""
    return "../" * (url_path.count(b"/") - 1)


def links_up(path: str, url_path: bytes) -> list[Link]:
    """From the page of `path`, without slashes at its ends, to what it lies in."""
    up, names = way_up(url_path), path.split("/")
    links = [Link("Repositories", up or "./")] if path else []
    for count in range(1, len(names)):
        links.append(Link(names[count - 1], up + Row("/".join(names[:count]), "", "").href))
    return links


def index_page(folder: str, rows: Sequence[Row], is_cut: bool, url_path: bytes = b"/") -> Page:
    """`url_path` is the path that was asked for, as it was sent."""
    html = render(
        "index.html",
        folder=folder,
        rows=rows,
        is_cut=is_cut,
        up=way_up(url_path),
        links=links_up(folder, url_path),
    )
    return Page(200, html)


def repository_page(
    name: str,
    description: str,
    command: str,
    heads: Sequence[Head],
    is_more: bool,
    note: str = "",
    links: Sequence[Link] = (),
) -> Page:
    """`command` clones it; "" when it is not for everyone to clone. `links` lead up."""
    html = render(
        "repository.html",
        name=name,
        description=description,
        command=command,
        heads=heads,
        is_more=is_more,
        note=note,
        links=links,
    )
    return Page(200, html)


def error_page(status: int, text: str, advice: str = "", link: Link | None = None) -> Page:
    """`link` leads on."""
    html = render("error.html", status=status, text=text.strip(), advice=advice, link=link)
    return Page(status, html)


def render(template: str, **values: object) -> bytes:
    text = environment().get_template(template).render(style=style(), **values)
    return LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text).encode()


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("trunkline.web"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def style() -> str:
    return files("trunkline.web").joinpath("templates/style.css").read_text("utf-8")


@cache
def content_security_policy() -> bytes:
    """Nothing is loaded, run, framed or posted; only the one style sheet counts, by its digest."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ).encode()
