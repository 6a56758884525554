"""POST of a commit stream: a whole commit in one request. The format: docs/commit-stream.md."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from trunkline.errors import PeerError
from trunkline.svn.commit.names import OPERATION_HEADER, OUTCOME_HEADER
from trunkline.svn.commit.parser import Parser
from trunkline.svn.commit.record import Delete, End, Head, Record
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import CODES, Bare, DavError, explain
from trunkline.svn.dav.intake import Intake
from trunkline.svn.dav.kept import keep, repeated, with_header, with_path
from trunkline.svn.dav.merge import merged
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.unpacking import unpacked
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.commit import Committed
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.fingerprint import Fingerprint, is_revision
from trunkline.svn.txn.outcome import Held, Intent, Outcome, Outcomes

UNKNOWN = 404
UNAUTHORIZED = 401
LOCKED = (
    codes.FS_BAD_LOCK_TOKEN,
    codes.FS_LOCK_OWNER_MISMATCH,
    codes.FS_NO_USER,
    codes.FS_NO_LOCK_TOKEN,
)


def commit_stream(exchange: Exchange) -> Answer:
    request = exchange.request
    parser = Parser(exchange.served.commit_limits)
    coding = request.header(b"content-encoding")
    records = read_records(parser, unpacked(coding, request.blocks))
    head = next(records)
    assert isinstance(head, Head)
    outcomes = exchange.served.area.outcomes(exchange.served.path, exchange.session.uuid)
    key = key_name(request.user, head.key)
    known = outcomes.known(key)
    if known is not None:
        return repeated(known)
    if head.is_question:
        return told(exchange, outcomes, key, records)
    with Intake(exchange) as intake:
        try:
            return received(exchange, outcomes, key, intake, records)
        except Exception as error:
            return refused(error, intake)


def read_records(parser: Parser, blocks: Iterator[bytes]) -> Iterator[Record]:
    """The end comes when there is nothing after it. Raises: PeerError."""
    end: Record | None = None
    for block in blocks:
        for record in parser.feed(block):
            if isinstance(record, End):
                end = record
            else:
                yield record
    parser.finish()
    assert end is not None
    yield end


def key_name(user: bytes | None, key: bytes) -> str:
    """Everybody has keys of their own; nobody's are those of all who don't log in."""
    who = b"" if user is None else b"%d:%s" % (len(user), user)
    return sha256(who + b"\n" + key).hexdigest()


def received(
    exchange: Exchange, outcomes: Outcomes, key: str, intake: Intake, records: Iterator[Record]
) -> Answer:
    end = intake.take(records)
    with outcomes.hold(key, exchange.served.commit_limits.wait) as held:
        first = first_outcome(exchange, held)
        return intake.commit(held, end) if first is None else repeated(first)


def told(exchange: Exchange, outcomes: Outcomes, key: str, records: Iterator[Record]) -> Answer:
    """What became of a key."""
    for _ in records:
        pass
    with outcomes.hold(key, exchange.served.commit_limits.wait) as held:
        first = first_outcome(exchange, held)
    if first is not None:
        return repeated(first)
    answer = explain(PeerError("nothing was committed by this key", status=UNKNOWN), "")
    return with_header(answer, OUTCOME_HEADER, b"unknown")


def first_outcome(exchange: Exchange, held: Held) -> Outcome | None:
    """Of the key that is held; found out where a worker died over it."""
    found = held.read()
    if not isinstance(found, Intent):
        return found
    session = exchange.session
    wanted = Fingerprint(found.revprops, found.changes)
    for revision in range(found.youngest + 1, session.youngest() + 1):
        if is_revision(session, revision, wanted):
            return keep(held, merged(exchange, Committed(revision)))
    held.forget()
    return None


def refused(error: Exception, intake: Intake) -> Answer:
    at = intake.at
    path = None if at is None else at.path
    if isinstance(error, Bare) or (isinstance(error, SvnError) and error.code in LOCKED):
        error = spoken(error, path or b"", isinstance(at, Delete))
    answer = with_path(explain(error, "commit stream"), path)
    if at is None:
        return answer
    return with_header(answer, OPERATION_HEADER, b"%d" % intake.count)


def spoken(error: Bare | SvnError, path: bytes, is_delete: bool) -> Exception:
    """What a step of a stock commit answers without words, in words: a client knows no more which
    request it was.
    """
    name = path.decode("utf-8", "replace")
    if isinstance(error, Bare):
        code = codes.RA_NOT_AUTHORIZED if error.status == UNAUTHORIZED else CODES[error.status]
        return DavError(error.status, code, f"Access to '{name}' forbidden")
    if is_delete:
        return error
    return DavError(423, codes.FS_NO_LOCK_TOKEN, f"'{name}': no lock token available")
