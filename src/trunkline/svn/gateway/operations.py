"""A client's requests as records of a commit stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from trunkline.errors import PeerError
from trunkline.svn.commit.encoder import Encoder
from trunkline.svn.commit.record import Form, Mode
from trunkline.svn.dav.names import SVNDIFF_TYPE
from trunkline.svn.dav.skel import parse_properties, parse_skel
from trunkline.svn.dav.url import clean_path, path_of_url, unquote
from trunkline.svn.dav.xml_in import Element, parse
from trunkline.svn.gateway.changes import read_changes
from trunkline.svn.gateway.message import Request
from trunkline.svn.gateway.tokens import Token, if_tokens, listed_tokens
from trunkline.svn.gateway.upstream import Repository

XML_LIMIT = 64 << 20  # bytes of a body that isn't a file's text
MADE = 201  # a PUT's status where nothing was before


class Operations:
    """Raises, all of it: PeerError for what the stream has no room for."""

    def __init__(self, encoder: Encoder, repository: Repository, txn: bytes, txr: bytes) -> None:
        self._encoder = encoder
        self._root = repository.root
        self._rvr = repository.rvr
        self._txn = txn
        self._txr = txr

    def begin(self, post: Request) -> Iterator[bytes]:
        yield self._encoder.begin()
        skel = parse_skel(post.body.read())
        if isinstance(skel, list) and len(skel) > 1:
            for name, value in parse_properties(skel[1]):
                yield self._encoder.revprop(name, value)

    def records(self, request: Request, status: int) -> Iterator[bytes]:
        """`status`: what the client is told."""
        yield from self._tokens(if_tokens(request.header(b"if") or b"", self._public_path))
        yield from STEPS[request.method](self, request, status)

    def end(self, merge: Request) -> bytes:
        tokens = listed_tokens(read_xml(merge), self._public_path(merge.target))
        records = b"".join(self._tokens(tokens))
        options = (merge.header(b"x-svn-options") or b"").split()
        return records + self._encoder.end(b"release-locks" in options)

    def _mkcol(self, request: Request, _: int) -> Iterator[bytes]:
        yield self._encoder.mkdir(self.path(request.target))

    def _delete(self, request: Request, _: int) -> Iterator[bytes]:
        path = self.path(request.target)
        yield from self._tokens(listed_tokens(read_xml(request), path))
        yield self._encoder.delete(path, base_of(request))

    def _copy(self, request: Request, _: int) -> Iterator[bytes]:
        target = self.path(path_of_url(request.header(b"destination") or b""))
        if not request.target.startswith(self._rvr + b"/"):
            raise PeerError("a copy of what isn't a path in a revision")
        revision, _slash, source = request.target[len(self._rvr) + 1 :].partition(b"/")
        if not revision.isdigit():
            raise PeerError("a copy of what isn't a path in a revision")
        yield self._encoder.copy(clean_path(unquote(source)), int(revision), target)

    def _put(self, request: Request, status: int) -> Iterator[bytes]:
        is_diff = request.header(b"content-type") == SVNDIFF_TYPE
        yield self._encoder.text(
            self.path(request.target),
            base_of(request),
            Mode.ADD if status == MADE else Mode.OPEN,
            Form.SVNDIFF if is_diff else Form.WHOLE,
            request.header(b"x-svn-base-fulltext-md5"),
            request.header(b"x-svn-result-fulltext-md5"),
        )
        for block in request.body.blocks():
            yield self._encoder.data(block)
        yield self._encoder.end_text()

    def _proppatch(self, request: Request, _: int) -> Iterator[bytes]:
        changes = list(read_changes(read_xml(request)))
        if request.target != self._txn:
            yield self._encoder.props(self.path(request.target), base_of(request), changes)
            return
        for name, value in changes:
            if value is None:
                raise PeerError("PROPPATCH: a new commit has no revision properties to remove")
            yield self._encoder.revprop(name, value)

    def _tokens(self, tokens: Iterable[Token]) -> Iterator[bytes]:
        for path, token in tokens:
            yield self._encoder.lock_token(path, token)

    # URL paths as paths in the repository

    def path(self, target: bytes) -> bytes:
        if target != self._txr and not target.startswith(self._txr + b"/"):
            raise PeerError("a URL of another transaction")
        return clean_path(unquote(target[len(self._txr) :]))

    def _public_path(self, url: bytes) -> bytes:
        target = path_of_url(url)
        if target != self._root and not target.startswith(self._root + b"/"):
            raise PeerError("a URL of another repository")
        return clean_path(unquote(target[len(self._root) :]))


STEPS: dict[bytes, Callable[[Operations, Request, int], Iterator[bytes]]] = {
    b"MKCOL": Operations._mkcol,
    b"DELETE": Operations._delete,
    b"COPY": Operations._copy,
    b"PUT": Operations._put,
    b"PROPPATCH": Operations._proppatch,
}


def base_of(request: Request) -> int | None:
    value = request.header(b"x-svn-version-name")
    return int(value) if value and value.isdigit() else None


def read_xml(request: Request) -> Element | None:
    return parse(request.body.blocks(), XML_LIMIT)
