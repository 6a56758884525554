"""Errors on the wire: `D:error` with the code that lets a client say the right thing.

Source: subversion 1.14, mod_dav_svn/util.c (dav_svn__convert_err); libsvn_ra_serf/util_error.c.
"""

from __future__ import annotations

import logging

from trunkline.errors import PeerError, StoreError, TrunklineError
from trunkline.reply import Bytes
from trunkline.svn.dav.names import XML_HEAD, XML_TYPE
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.xml_out import printable
from trunkline.svn.repository import error as codes
from trunkline.svn.repository.error import SvnError

log = logging.getLogger(__name__)

STATUSES = {
    codes.FS_NOT_FOUND: 404,
    codes.FS_NO_SUCH_REVISION: 404,
    codes.FS_NO_SUCH_TRANSACTION: 404,
    codes.FS_LOCK_OWNER_MISMATCH: 423,
    codes.FS_PATH_ALREADY_LOCKED: 423,
    codes.FS_PROP_BASEVALUE_MISMATCH: 412,
    codes.UNSUPPORTED_FEATURE: 501,
    codes.FS_CONFLICT: 409,
    codes.FS_TXN_OUT_OF_DATE: 409,
    codes.FS_OUT_OF_DATE: 409,
    codes.RA_OUT_OF_DATE: 409,
    codes.FS_NO_LOCK_TOKEN: 423,
    codes.FS_BAD_LOCK_TOKEN: 423,
    codes.FS_NO_SUCH_LOCK: 400,
    codes.FS_NO_USER: 403,
    codes.RA_NOT_AUTHORIZED: 403,
    codes.AUTHZ_UNREADABLE: 403,
    codes.AUTHZ_UNWRITABLE: 403,
    codes.FS_ALREADY_EXISTS: 405,
    codes.FS_PATH_SYNTAX: 400,
    codes.FS_NOT_DIRECTORY: 409,
    codes.FS_NOT_FILE: 409,
    codes.INCORRECT_PARAMS: 400,
    codes.CHECKSUM_MISMATCH: 500,
}

# Of faults that have an HTTP status only. Source: libsvn_ra_serf/util.c, which does the same.
CODES = {403: 175013, 404: codes.FS_NOT_FOUND, 405: 175015, 409: codes.FS_CONFLICT}


# Below this an error is the operating system's, and its words name files of ours.
SYSTEM_ERRORS = 125000
UNREADABLE = "the repository can't be read or written; the server's log says why"


class DavError(TrunklineError):
    """An error with a status that isn't its code's usual one."""

    def __init__(self, status: int, code: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code


class Bare(TrunklineError):
    """A status without an error of ours: clients then say it in words of their own."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def explain(error: Exception, what: str) -> Answer:
    """`what` names the request in the log. A client's own fault isn't logged."""
    if isinstance(error, Bare):
        return Answer(error.status, [(b"content-type", b"text/plain")], Bytes(b"refused\n"))
    if isinstance(error, DavError):
        return failure(error.status, error.code, error.text)
    if isinstance(error, SvnError):
        if error.code < SYSTEM_ERRORS:
            log.error("%s: E%06d: %s", what, error.code, error.text)
            return failure(500, error.code, UNREADABLE)
        return failure(STATUSES.get(error.code, 500), error.code, error.text)
    if isinstance(error, PeerError):
        code = CODES.get(error.status, codes.RA_DAV_REQUEST_FAILED)
        return failure(error.status, code, error.text)
    if isinstance(error, StoreError):
        log.error("%s: %s", what, error.text)
        return failure(500, codes.RA_DAV_REQUEST_FAILED, UNREADABLE)
    log.error("%s: %s", what, type(error).__name__, exc_info=error)
    return failure(500, codes.RA_DAV_REQUEST_FAILED, "internal error; the server's log has it")


def failure(status: int, code: int, text: str) -> Answer:
    words = printable(text.encode("utf-8", "backslashreplace"))
    body = (
        XML_HEAD + b'<D:error xmlns:D="DAV:" xmlns:m="http://apache.org/dav/xmlns" '
        b'xmlns:C="svn:">\n<C:error/>\n'
        b'<m:human-readable errcode="%d">\n%s\n</m:human-readable>\n</D:error>\n' % (code, words)
    )
    headers = [(b"content-type", XML_TYPE)]
    return Answer(status, headers, Bytes(body))
