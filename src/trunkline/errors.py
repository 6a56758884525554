"""Who is at fault. Only the shells (`http`, `cli`) make replies, log lines or exit codes of it."""

from __future__ import annotations


class TrunklineError(Exception):
    """Root of what Trunkline raises on purpose; its text is one line for a person."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class PeerError(TrunklineError):
    """The peer sent something wrong. `text` is safe to send back to it.

    `status` is the HTTP status to answer with where the protocol has no better way to say it.
    """

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class ClientGone(PeerError):
    """The client went away in the middle of its request, so nobody reads an answer."""


class StoreError(TrunklineError):
    """Our disk is wrong, or changed under us. Logged with path and offset (bytes), never sent.

    `command` is of the protocol, once it is known which one failed; for the access log.
    """

    command = ""

    def __init__(self, text: str, path: str | None = None, offset: int | None = None) -> None:
        where = (
            ""
            if path is None
            else f" [{path}" + (f" at byte {offset}]" if offset is not None else "]")
        )
        super().__init__(text + where)
        self.path = path
        self.offset = offset


class NotNative(TrunklineError):
    """A repository we leave to the installed Mercurial; `text` says what about it."""


class SettingsError(TrunklineError):
    """The operator asked for something that can't be: one line on stderr, exit status 2."""
