"""LFS: contents of files that clients ask for, and send, apart from the history.

The addresses are those that Mercurial's own server has. What is asked for is read with the right
to pull, what is sent needs the right to push.
Source: hg 7.2.4, hgext/lfs/wireprotolfsserver.py; docs/api/*.md of git-lfs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from trunkline.errors import PeerError
from trunkline.hg.large.batch import (
    BASIC,
    JSON,
    Action,
    Batch,
    Fault,
    Offered,
    Wanted,
    format_offered,
    parse_batch,
    parse_verify,
)
from trunkline.hg.large.blobs import CORRUPT, Blob, Blobs
from trunkline.hg.large.places import lfs_blobs
from trunkline.hg.wire.answer import Answer
from trunkline.hg.wire.served import Served
from trunkline.http.visit import Visit
from trunkline.reply import Bytes, Stream
from trunkline.work import Work

OCTETS = b"application/octet-stream"
TEXT = b"text/plain; charset=utf-8"
GROUP = 256  # objects of a batch's reply that are put together

# 400: clients then tell their user to check whether the server serves them.
# Source: hg 7.2.4, hgext/lfs/blobstore.py.
NOT_SERVED = "the contents of large files (LFS) aren't served here; lfs.url can name who does"

_API = re.compile(rb"(.*?)/\.git/info/lfs(?:/(.*))?", re.DOTALL)
_BLOB = re.compile(rb"(.*)/\.hg/lfs/objects/([^/]*)", re.DOTALL)


class Kind(Enum):
    BATCH = "batch"
    VERIFY = "verify"
    BLOB = "blob"
    UNKNOWN = "unknown"


METHODS = {
    Kind.BATCH: ("POST",),
    Kind.VERIFY: ("POST",),
    Kind.BLOB: ("GET", "HEAD", "PUT"),
    Kind.UNKNOWN: ("GET", "HEAD", "POST", "PUT", "DELETE"),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """`base` is the path of the repository as it was sent; `oid` is of a BLOB."""

    kind: Kind
    base: bytes
    oid: str = ""

    @property
    def has_message(self) -> bool:
        """Whether its body is JSON."""
        return self.kind in (Kind.BATCH, Kind.VERIFY)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of LFS. `batch` and `wanted` are what its body says, by its kind."""

    visit: Visit
    wish: Wish
    payload: Iterator[bytes] | None
    work: Work
    batch: Batch | None = None
    wanted: Wanted | None = None

    @property
    def is_writing(self) -> bool:
        if self.batch is not None:
            return self.batch.operation == "upload"
        return self.wish.kind is Kind.BLOB and self.visit.method == "PUT"


def read_asked(
    visit: Visit, wish: Wish, message: bytes, payload: Iterator[bytes] | None, work: Work
) -> Asked:
    """Raises: PeerError."""
    if wish.kind is Kind.BATCH:
        check_types(visit)
        return Asked(visit, wish, payload, work, batch=parse_batch(message))
    if wish.kind is Kind.VERIFY:
        return Asked(visit, wish, payload, work, wanted=parse_verify(message))
    return Asked(visit, wish, payload, work)


def parse_wish(raw_path: bytes) -> Wish | None:
    """None: the path is of something else."""
    if found := _API.fullmatch(raw_path):
        kind = {b"objects/batch": Kind.BATCH, b"objects/verify": Kind.VERIFY}.get(found[2] or b"")
        return Wish(kind or Kind.UNKNOWN, found[1])
    if found := _BLOB.fullmatch(raw_path):
        return Wish(Kind.BLOB, found[1], found[2].decode("latin-1"))
    return None


def check_method(wish: Wish, method: str) -> None:
    """Raises: PeerError."""
    if method not in METHODS[wish.kind]:
        raise PeerError(f"nothing here answers to {method[:20]}", status=405)


def answer(served: Served, asked: Asked) -> Answer:
    """Of what is allowed. Raises: PeerError, StoreError, SettingsError."""
    blobs = lfs_blobs(served.root, served.config)
    if blobs is None:
        raise PeerError(NOT_SERVED)
    if asked.batch is not None:
        return offer(blobs, asked, asked.batch)
    if asked.wanted is not None:
        return verify(blobs, asked.wanted)
    if asked.wish.kind is not Kind.BLOB:
        raise PeerError("LFS has nothing by this address", status=404)
    if not blobs.is_name(asked.wish.oid):
        raise PeerError("not the name of an object: it has 64 hexadecimal digits", status=404)
    return upload(blobs, asked) if asked.is_writing else download(blobs, asked.wish.oid)


def upload(blobs: Blobs, asked: Asked) -> Answer:
    oid = asked.wish.oid
    had = blobs.find(oid) is not None
    blobs.receive(oid, asked.payload or iter(()))
    return Answer(200 if had else 201, [(b"content-type", TEXT)], Bytes(b""))


def download(blobs: Blobs, oid: str) -> Answer:
    """Contents that aren't right break the connection before their end."""
    blob = blobs.find(oid)
    if blob is None:
        raise PeerError("the object does not exist", status=404)
    headers = [(b"content-type", OCTETS), (b"content-length", b"%d" % blob.size)]
    return Answer(200, headers, Stream(blobs.read(oid, blob)))


def verify(blobs: Blobs, wanted: Wanted) -> Answer:
    blob = blobs.find(wanted.oid) if blobs.is_name(wanted.oid) else None
    if blob is None:
        raise PeerError("the object does not exist", status=404)
    if blob.size != wanted.size:
        raise PeerError(f"the object has {blob.size} bytes", status=CORRUPT)
    return Answer(200, [(b"content-type", JSON)], Bytes(b"{}"))


def check_types(visit: Visit) -> None:
    """Raises: PeerError."""
    if visit.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != JSON:
        raise PeerError(f"the Content-Type must be {JSON.decode()}", status=415)
    accept = visit.headers.get(b"accept", b"*/*").lower()
    if JSON not in accept and b"*/*" not in accept:
        raise PeerError(f"the answer is {JSON.decode()}", status=406)


def offer(blobs: Blobs, asked: Asked, batch: Batch) -> Answer:
    judge = offer_upload if batch.operation == "upload" else offer_download
    blocks = format_offers(batch, lambda wanted: judge(blobs, asked, wanted))
    return Answer(200, [(b"content-type", JSON)], Stream(blocks))


def format_offers(batch: Batch, judge: Callable[[Wanted], Offered]) -> Iterator[bytes]:
    """A group at a time: all of it may be long."""
    start, objects = b'{"transfer":"%s","objects":[' % BASIC.encode(), batch.objects
    for at in range(0, len(objects), GROUP):
        group = [format_offered(judge(wanted)) for wanted in objects[at : at + GROUP]]
        yield start + b",".join(group)
        start = b","
    yield (b"" if objects else start) + b"]}"


def offer_download(blobs: Blobs, asked: Asked, wanted: Wanted) -> Offered:
    """Whether the contents are right shows when they are sent."""
    asked.work.look()
    if not blobs.is_name(wanted.oid):
        return refused(wanted, CORRUPT, "Not the name of an object")
    blob = blobs.find(wanted.oid)
    if blob is None:
        return refused(wanted, 404, "The object does not exist")
    if blob.size != wanted.size:
        return refused(wanted, CORRUPT, "The object has another size")
    return Offered(
        wanted.oid, wanted.size, {"download": action(asked, f"/.hg/lfs/objects/{wanted.oid}")}
    )


def offer_upload(blobs: Blobs, asked: Asked, wanted: Wanted) -> Offered:
    """Nothing to do for one that is there and right."""
    asked.work.look()
    if not blobs.is_name(wanted.oid):
        return refused(wanted, CORRUPT, "Not the name of an object")
    blob = blobs.find(wanted.oid)
    if blob is not None and is_right(blobs, blob, wanted, asked.work):
        blobs.adopt(wanted.oid, blob)
        return Offered(wanted.oid, wanted.size)
    actions = {
        "upload": action(asked, f"/.hg/lfs/objects/{wanted.oid}"),
        "verify": action(asked, "/.git/info/lfs/objects/verify"),
    }
    return Offered(wanted.oid, wanted.size, actions)


def is_right(blobs: Blobs, blob: Blob, wanted: Wanted, work: Work) -> bool:
    return blob.size == wanted.size and blobs.is_sound(wanted.oid, blob, work.look)


def refused(wanted: Wanted, code: int, message: str) -> Offered:
    return Offered(wanted.oid, wanted.size, error=Fault(code, message))


def action(asked: Asked, path: str) -> Action:
    """The login that came along is good for the next request, too: clients of Mercurial's would
    send all of a large file before they are asked for it.
    """
    header = {"Accept": "application/vnd.git-lfs"}
    login = asked.visit.headers.get(b"authorization", b"")
    if login.lower().startswith((b"basic ", b"bearer ")):
        header["Authorization"] = login.decode("latin-1")
    base = asked.visit.base_url + asked.wish.base.decode("latin-1")
    return Action(base + path, header)
