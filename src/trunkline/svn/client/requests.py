"""What a commit asks of a server, as bytes; and what the server's answers say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from trunkline.errors import PeerError
from trunkline.svn.client.connection import ANSWER_LIMIT, Ask, Said
from trunkline.svn.client.failed import CommitFailed
from trunkline.svn.client.file import File
from trunkline.svn.commit.names import POST_NAME
from trunkline.svn.dav.names import NS_CUSTOM, NS_DAV, NS_SVN, SKEL_TYPE, XML_TYPE
from trunkline.svn.dav.url import quote, unquote
from trunkline.svn.dav.xml_in import Element, parse
from trunkline.svn.dav.xml_out import element, property_tag

XML = {"Content-Type": XML_TYPE.decode()}
PROPERTY_NAME = re.compile(r"[A-Za-z_:][-A-Za-z0-9._:]*")
STATUS = re.compile(rb"<(?:\w+:)?status>\s*HTTP/1\.[01] (\d{3})")
SET = (
    b'<D:propertyupdate xmlns:D="DAV:" xmlns:V="%s" xmlns:S="%s" xmlns:C="%s"><D:set><D:prop>'
    b"%s</D:prop></D:set></D:propertyupdate>"
)
MERGE = (
    b'<D:merge xmlns:D="DAV:"><D:source><D:href>%s</D:href></D:source><D:no-auto-merge/>'
    b"<D:no-checkout/></D:merge>"
)
# Of answers without words of the server's own.
WORDS = {
    401: "the user's name or password isn't accepted, or one is needed",
    403: "that is forbidden",
    404: "there is no such path",
    409: "that conflicts with what is there",
    413: "that is larger than the server takes",
    423: "that is locked",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a repository, as a server has said where it is. URL paths, quoted; `folder` is
    from the repository's root. `takes_many`: one transaction, several writers."""

    target: bytes
    folder: bytes
    me: bytes
    txn: bytes
    txr: bytes
    takes_many: bool

    def at(self, name: str, path: str) -> bytes:
        """Of a path from the folder, in the transaction `name`."""
        below = b"/" + quote(path.encode()) if path else b""
        return self.txr + b"/" + name.encode() + self.folder + below


def clean(path: str) -> str:
    """Raises: ValueError."""
    names = path.strip("/").split("/")
    if not all(names) or {".", ".."} & set(names) or "\0" in path:
        raise ValueError(f"not a path of a file: {path!r}")
    return "/".join(names)


def url_path(url: str) -> bytes:
    return quote(unquote(urlsplit(url).path.rstrip("/").encode())) or b"/"


def options(url: str) -> Ask:
    body = b'<D:options xmlns:D="DAV:"><D:activity-collection-set/></D:options>'
    return Ask("OPTIONS", url_path(url), XML, len(body), [body])


def parse_place(url: str, said: Said) -> Place:
    """Raises: CommitFailed."""

    def header(name: str) -> bytes:
        return said.headers.get(f"svn-{name}", "").rstrip("/").encode()

    if not header("me-resource") or not header("vtxn-stub"):
        raise CommitFailed(f"{url}: no Subversion server that speaks HTTP v2")
    target, root = unquote(url_path(url)).rstrip(b"/"), unquote(header("repository-root"))
    posts = header("supported-posts").split(b",")
    return Place(
        quote(target) or b"/",
        quote(target[len(root) :]),
        header("me-resource"),
        header("vtxn-stub"),
        header("vtxn-root-stub"),
        POST_NAME in [one.strip() for one in posts],
    )


def begin(place: Place, name: str, message: str, paths: Iterable[str]) -> list[Ask]:
    """The transaction, and every folder on the way to `paths`."""
    log = message.encode()
    body = b"(create-txn-with-props (svn:log %d %s))" % (len(log), log)
    headers = {"Content-Type": SKEL_TYPE.decode(), "SVN-VTxn-Name": name}
    folders = {path[: match.start()] for path in paths for match in re.finditer("/", path)}
    return [
        Ask("POST", place.me, headers, len(body), [body]),
        *(Ask("MKCOL", place.at(name, path), path=path) for path in sorted(folders)),
    ]


def file(place: Place, name: str, path: str, given: File, text: Iterable[bytes]) -> list[Ask]:
    """`text` is that of `given`. Raises: CommitFailed, ValueError."""
    where = place.at(name, path)
    asks = [Ask("PUT", where, {}, given.size, text, path)]
    if given.properties:
        body = properties(given.properties)
        asks.append(Ask("PROPPATCH", where, XML, len(body), [body], path))
    return asks


def properties(values: Mapping[str, bytes]) -> bytes:
    """Raises: ValueError."""
    for name in values:
        if not PROPERTY_NAME.fullmatch(name):
            raise ValueError(f"not a name of a property: {name!r}")
    elements = [
        element(property_tag(name.encode()), value, b"V:encoding") for name, value in values.items()
    ]
    spaces = (space.encode() for space in (NS_DAV, NS_SVN, NS_CUSTOM))
    return SET % (*spaces, b"".join(elements))


def merge(place: Place, name: str) -> Ask:
    body = MERGE % (place.txn + b"/" + name.encode())
    headers = {**XML, "X-SVN-Options": "no-merge-response"}
    return Ask("MERGE", place.target, headers, len(body), [body])


def forget(place: Place, name: str) -> Ask:
    return Ask("DELETE", place.txn + b"/" + name.encode())


def parse_merged(said: Said) -> tuple[int, str | None, str, str | None]:
    """Revision, author, date, what the post-commit hook said. Raises: CommitFailed."""
    found: Element | None = read(said)
    for step in ("updated-set", "response", "propstat", "prop"):
        found = found.child(step) if found is not None else None
    number = found.child_text("version-name") if found is not None else None
    if found is None or number is None or not number.isdigit():
        raise CommitFailed("it was committed, but the server's answer doesn't say as what")

    def text(name: str) -> str | None:
        value = found.child_text(name)
        return None if value is None else value.decode()

    return (
        int(number),
        text("creator-displayname"),
        text("creationdate") or "",
        text("post-commit-err"),
    )


def read(said: Said) -> Element | None:
    try:
        return parse([bytes(said.body)], ANSWER_LIMIT)
    except PeerError:
        return None


def check_properties(ask: Ask, said: Said) -> None:
    """Each has a status of its own. Raises: CommitFailed."""
    for status in STATUS.findall(bytes(said.body)):
        if not status.startswith(b"2"):
            raise CommitFailed(f"'{ask.path}': a property isn't taken", path=ask.path)


def explain(ask: Ask, said: Said) -> CommitFailed:
    """In the server's own words, where it has some."""
    found = read(said)
    told = found.child("human-readable") if found is not None else None
    if told is not None:
        code = (told.attr("errcode") or b"").decode()
        text = told.text.strip().decode()
        if ask.path and ask.path not in text:
            text = f"'{ask.path}': {text}"
        return CommitFailed(text, int(code) if code.isdigit() else None, ask.path)
    words = WORDS.get(said.status, f"the server said {said.status} to {ask.method}")
    return CommitFailed(f"'{ask.path}': {words}" if ask.path else words, path=ask.path)
