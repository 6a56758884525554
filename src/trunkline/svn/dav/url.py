"""URLs of a repository: which of its resources one names, and how they are written.

Source: subversion 1.14, mod_dav_svn/repos.c and version.c; libsvn_subr/path.c for what stays
unescaped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from trunkline.errors import PeerError
from trunkline.svn.dav.names import SPECIAL

SAFE = "!$&'()*+,-./:=@_~"  # besides letters and digits


@dataclass(frozen=True, slots=True)
class Resource:
    """`path` has a slash at its start and none at its end. `kind` is "public" or the wire's word:
    me rev rvr txn txr, and of HTTP v1 ver vcc bc bln act wrk wbl.
    """

    kind: str
    path: bytes = b"/"
    revision: int | None = None
    txn: bytes = b""

    @property
    def is_node(self) -> bool:
        """A file or folder that is committed."""
        return self.kind in ("public", "rvr", "ver", "bc")


def quote(path: bytes) -> bytes:
    return quote_from_bytes(path, safe=SAFE).encode()


def unquote(raw: bytes) -> bytes:
    """Decoded once. Raises: PeerError for what is no UTF-8 or has a NUL."""
    path = unquote_to_bytes(raw)
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        raise PeerError("the path isn't UTF-8") from None
    if b"\0" in path:
        raise PeerError("the path has a NUL")
    return path


def clean_path(path: bytes) -> bytes:
    """With one slash at its start, and no empty names. Raises: PeerError for `.` and `..`."""
    names = [name for name in path.split(b"/") if name]
    if b"." in names or b".." in names:
        raise PeerError("the path has a relative name")
    return b"/" + b"/".join(names)


def join(folder: bytes, name: bytes) -> bytes:
    if not name:
        return folder
    return folder + name if folder.endswith(b"/") else folder + b"/" + name


def relative(path: bytes) -> bytes:
    return path.strip(b"/")


def parse_resource(raw: bytes) -> Resource:
    """Of what follows the repository's own URL. Raises: PeerError."""
    return parse_path(unquote(raw))


def parse_path(decoded: bytes) -> Resource:
    path = clean_path(decoded)
    names = path[1:].split(b"/", 2)
    if names[0] != SPECIAL:
        return Resource("public", path)
    word = names[1].decode("latin-1") if len(names) > 1 else ""
    rest = names[2] if len(names) > 2 else b""
    parser = PARSERS.get(word)
    if parser is None:
        raise PeerError("no such special resource", status=404)
    return parser(word, rest)


def parse_bare(word: str, rest: bytes) -> Resource:
    if rest and word == "me":
        raise PeerError("no such special resource", status=404)
    return Resource(word)


def parse_revision(word: str, rest: bytes) -> Resource:
    revision, _, path = rest.partition(b"/")
    return Resource(word, clean_path(path), number(revision))


def parse_txn(word: str, rest: bytes) -> Resource:
    name, _, path = rest.partition(b"/")
    if not name:
        raise PeerError("no such special resource", status=404)
    if word == "wbl":
        return Resource(word, b"/", number(path), name)
    return Resource(word, clean_path(path), None, name)


def parse_activity(word: str, rest: bytes) -> Resource:
    return Resource(word, b"/", None, rest)


def number(raw: bytes) -> int:
    if not raw.isdigit() or len(raw) > 10:
        raise PeerError("not a revision number", status=404)
    return int(raw)


PARSERS: dict[str, Callable[[str, bytes], Resource]] = {
    "me": parse_bare,
    "vcc": parse_bare,
    "rev": parse_revision,
    "rvr": parse_revision,
    "ver": parse_revision,
    "bc": parse_revision,
    "bln": parse_revision,
    "txn": parse_txn,
    "txr": parse_txn,
    "vtxn": parse_txn,
    "vtxr": parse_txn,
    "wrk": parse_txn,
    "wbl": parse_txn,
    "act": parse_activity,
}


def special(base: bytes, word: bytes) -> bytes:
    return base + b"/" + SPECIAL + b"/" + word


def versioned(base: bytes, word: bytes, revision: int, path: bytes) -> bytes:
    """`word` is rvr, ver or bc."""
    return special(base, b"%s/%d%s" % (word, revision, quote(path)))


def path_of_url(url: bytes) -> bytes:
    """Of an absolute URL, or of a path: without scheme and host, which proxies change."""
    try:
        return urlsplit(url).path or b"/"
    except ValueError:
        raise PeerError("not a URL") from None


def resource_of_url(base: bytes, url: bytes) -> Resource:
    """What a URL in a body or header names. Raises: PeerError for one of another repository."""
    path, own = unquote(path_of_url(url.strip())), unquote(base)
    if path != own and not path.startswith(own + b"/"):
        raise PeerError("the URL is of another repository")
    return parse_path(path[len(own) :])
