"""From an exception to an answer: what the client is told, and what the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

from trunkline.access.guesses import TooManyFailures
from trunkline.access.judge import READ, Refusal
from trunkline.errors import NotNative, PeerError, SettingsError, StoreError, TrunklineError
from trunkline.hg.large.batch import JSON, format_message
from trunkline.hg.wire.answer import Answer
from trunkline.hg.wire.negotiate import MEDIA_TYPE_0_1, MEDIA_TYPE_ERROR
from trunkline.http.url_path import NOT_FOUND
from trunkline.http.visit import Visit
from trunkline.reply import Bytes
from trunkline.svn.dav import request as dav
from trunkline.svn.dav.answer import METHODS
from trunkline.svn.dav.failure import DavError
from trunkline.svn.dav.failure import explain as explain_dav
from trunkline.web.pages import error_page

log = logging.getLogger(__name__)

TEXT = (b"content-type", b"text/plain; charset=utf-8")
RETRY_SECONDS = b"5"
# What Mercurial fails on may be the bundle as well as our disk: it doesn't say.
PUSHES = ("unbundle", "pushkey")
PUSH_FAILED = "the push failed; the server's log says why"
# To a Subversion client. Source: the second is mod_dav_svn's (repos.c).
NOT_THERE: dict[int, TrunklineError] = {
    HTTPStatus.FORBIDDEN: PeerError(READ.text, HTTPStatus.FORBIDDEN),
    HTTPStatus.NOT_FOUND: DavError(404, 2, "Could not find the requested SVN filesystem"),
}


DAV_METHODS = METHODS.keys() - {"GET", "HEAD", "POST"}


class NotThere(PeerError):
    """No repository, or none that this visitor may know of: nothing tells which, and whoever could
    see more with a login is asked for it in both cases.
    """

    def __init__(self, asks_login: bool, status: int | None = None) -> None:
        """`status`: where a rule about the name says it."""
        usual = READ.status if asks_login else HTTPStatus.NOT_FOUND
        super().__init__(NOT_FOUND, status or usual)


def explain(error: Exception, what: str, command: str = "") -> Answer:
    """`what` names the request in the log. A client's own fault isn't logged here."""
    if isinstance(error, PeerError):
        return peer_failure(error, command)
    if isinstance(error, StoreError):
        log.error("%s: %s", what, error.text)
        if command in PUSHES:
            return error_answer(PUSH_FAILED, command)
        text = "the repository can't be read; the server's log says why"
        return text_answer(500, text, command or error.command)
    if isinstance(error, SettingsError | NotNative):
        log.error("%s: %s", what, error.text)
        text = "the repository's configuration can't be used; the server's log says why"
        return text_answer(500, text, command)
    log.error("%s: %s", what, type(error).__name__, exc_info=error)
    return text_answer(500, "internal error; the server's log has it", command)


def peer_failure(error: PeerError, command: str) -> Answer:
    """In a form that a stock client shows, if one is known to ask."""
    if isinstance(error, NotThere) and error.status == READ.status:
        return refuse(READ, command) if command else text_answer(READ.status, READ.text)
    if command and error.status == HTTPStatus.BAD_REQUEST:
        return error_answer(error.text, command)
    answer = text_answer(error.status, error.text, command)
    answer.headers.extend(retry_after(error))
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers.append((b"allow", b"GET, HEAD, POST" if command else b"GET, HEAD"))
    return answer


def retry_after(error: PeerError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, TooManyFailures):
        return [(b"retry-after", b"%d" % error.seconds)]
    busy = error.status == HTTPStatus.SERVICE_UNAVAILABLE
    return [(b"retry-after", RETRY_SECONDS)] if busy else []


def speaks_dav(visit: Visit) -> bool:
    """A Subversion client, or another one of WebDAV."""
    return visit.is_svn or visit.method in DAV_METHODS


def explain_to_svn(error: Exception, what: str) -> dav.Answer:
    """As stock words it, where that has a word for it."""
    if isinstance(error, NotThere):
        error = NOT_THERE.get(error.status, error)
    answer = explain_dav(error, what)
    if isinstance(error, PeerError):
        answer.headers.extend(retry_after(error))
    return answer


def for_people(answer: Answer, headers: Mapping[bytes, bytes]) -> Answer:
    """The same as a page, if a browser asks, and in JSON, if a client of LFS does."""
    if JSON in headers.get(b"accept", b""):
        return in_json(answer)
    if not wants_page(headers):
        return answer
    assert isinstance(answer.body, Bytes)
    page = error_page(answer.status, answer.body.data.decode("utf-8", "replace"))
    kept = [header for header in answer.headers if header != TEXT]
    return Answer(page.status, [*page.headers, *kept], Bytes(page.html), answer.command)


def in_json(answer: Answer) -> Answer:
    assert isinstance(answer.body, Bytes)
    data = format_message(answer.body.data.decode("utf-8", "replace").strip())
    headers = [(b"content-type", JSON), *(header for header in answer.headers if header != TEXT)]
    return Answer(answer.status, headers, Bytes(data), answer.command)


def wants_page(headers: Mapping[bytes, bytes]) -> bool:
    """A browser's."""
    return b"text/html" in headers.get(b"accept", b"")


def log_broken(error: BaseException, what: str, sent: int) -> None:
    """A reply that failed after `sent` bytes of its body."""
    where = f"{what}: broken after {sent} bytes"
    if isinstance(error, TrunklineError):
        log.error("%s: %s", where, error.text)
    else:
        log.error("%s: %s", where, type(error).__name__, exc_info=error)


def refuse(refusal: Refusal, command: str) -> Answer:
    """As stock words it: "0" is its code of a push that failed."""
    headers = [(b"content-type", MEDIA_TYPE_0_1)]
    return Answer(refusal.status, headers, Bytes(b"0\n%s\n" % refusal.text.encode()), command)


def refuse_push(refusal: Refusal, what: str, command: str) -> Answer:
    """In a form that a stock client shows: of another status than 200 it shows the number alone, as
    what follows that in HTTP can't be ours (stock's server writes its words there). So, too, of a
    401 as long as nobody can log in.
    """
    if refusal.status == HTTPStatus.METHOD_NOT_ALLOWED:
        return refuse(refusal, command)
    log.warning("%s: %s refused: %s [%s]", what, command, refusal.text, refusal.rule)
    return error_answer(refusal.text, command)


def error_answer(text: str, command: str) -> Answer:
    """What a stock client shows as `remote error`."""
    line = text.strip().encode("utf-8", "surrogateescape") + b"\n"
    return Answer(200, [(b"content-type", MEDIA_TYPE_ERROR)], Bytes(line), command)


def text_answer(status: int, text: str, command: str = "") -> Answer:
    line = " ".join(text.split()).encode("utf-8", "backslashreplace") + b"\n"
    return Answer(status, [TEXT], Bytes(line), command)
