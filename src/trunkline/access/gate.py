"""Who is asking: what a client or a proxy shows, made an `Identity`. One gate for both protocols.

`known` costs no hashing and no wait, so the event loop may ask it; `login` is for a thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from trunkline.access.credentials import Basic, Bearer, parse_authorization
from trunkline.access.guesses import Guesses
from trunkline.access.htpasswd import NO_PASSWORDS, Passwords, parse_passwords
from trunkline.access.identity import ANONYMOUS, Identity
from trunkline.access.remembered import Remembered
from trunkline.access.subject import user_of_subject
from trunkline.access.token_file import Uses
from trunkline.access.tokens import NO_TOKENS, Tokens, looks_like_token, parse_tokens
from trunkline.access.watched import Watched
from trunkline.config.auth import Auth, is_user_name
from trunkline.errors import PeerError

log = logging.getLogger(__name__)

# What proxies write for a variable without a value.
NO_VALUES = (b"-", b"(null)")
USER_SHOWN = 64  # characters of a name that failed, in the log


class LoginFailed(PeerError):
    """What was shown is wrong, whoever it was: the words don't tell what about it."""

    def __init__(self) -> None:
        super().__init__("the login is not valid", status=401)


@dataclass(frozen=True, slots=True)
class Shown:
    """What came with a request. `address`: whose failures are counted, `is_proxied`: it came
    through a proxy that we trust, so the headers are the proxy's. `repeated`: names of headers
    that came more than once.
    """

    headers: Mapping[bytes, bytes]
    address: str
    is_proxied: bool = False
    repeated: Container[bytes] = frozenset()

    def get(self, name: bytes) -> bytes:
        """Raises: PeerError where it is said twice who it is: one of the two is a lie."""
        if name in self.repeated:
            raise PeerError(f"{name.decode('latin-1')} came more than once")
        return self.headers.get(name, b"").strip()


class Gate:
    """One for each worker and each state of the settings' `[auth]`. Thread-safe."""

    def __init__(self, auth: Auth, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises: SettingsError for a password or token file that is broken or not there."""
        self._auth = auth
        self._passwords = watch_passwords(auth.password_file)
        self._tokens = watch_tokens(auth.token_file)
        self._uses = Uses(auth.token_file)
        self._right = Remembered(auth.verified, auth.verified_seconds, clock)
        self._wrong = Remembered(auth.verified, auth.failure_seconds, clock)
        self._guesses = Guesses(auth, clock)
        self._user_header = auth.user_header.lower().encode()
        self._certificate_header = auth.certificate_header.lower().encode()

    def known(self, shown: Shown) -> Identity | None:
        """None: only `login` can tell. Raises: PeerError (401, 429, 400 and 431)."""
        if shown.is_proxied:
            proxied = self._proxied(shown)
            if proxied is not None:
                return proxied
        value = shown.get(b"authorization") if self._auth.has_logins else b""
        found = parse_authorization(value) if value else None
        if found is None:
            return ANONYMOUS
        if isinstance(found, Bearer):
            return self._token(found.token, "", shown.address)
        if looks_like_token(found.password):
            text = found.password.decode("utf-8", "surrogateescape")
            return self._token(text, found.user, shown.address)
        return self._remembered(found, shown.address)

    def login(self, shown: Shown) -> Identity:
        """For what isn't known. Hashes the password. Raises: PeerError, as `known`."""
        known = self.known(shown)  # by another request of the same login, while this one waited
        if known is not None:
            return known
        found = parse_authorization(shown.get(b"authorization"))
        assert isinstance(found, Basic)
        passwords = self._passwords()
        text = passwords.hash_of(found.user)
        if not passwords.verify(found.user, found.password):
            self._wrong.add(found.user, found.password, text)
            self._guesses.failed(shown.address, found.user)
            self._log_failure(shown.address, found.user, "password")
            raise LoginFailed
        self._right.add(found.user, found.password, text)
        self._guesses.succeeded(shown.address, found.user)
        return Identity(found.user, how="password")

    # -- each way

    def _proxied(self, shown: Shown) -> Identity | None:
        """Raises: PeerError."""
        name = told(shown, self._user_header)
        if name:
            return Identity(checked_user(name.decode("utf-8", "surrogateescape")), how="proxy")
        subject = told(shown, self._certificate_header)
        if subject:
            text = subject.decode("utf-8", "surrogateescape")
            user = user_of_subject(text, self._auth.certificate_field)
            return Identity(checked_user(user), how="certificate")
        return None

    def _remembered(self, found: Basic, address: str) -> Identity | None:
        """A wrong password that comes again is no new guess: a job that was left with an old one
        must not lock out all others behind its address.
        """
        text = self._passwords().hash_of(found.user)
        if self._wrong.has(found.user, found.password, text):
            raise LoginFailed
        self._guesses.check(address, found.user)
        if self._right.has(found.user, found.password, text):
            return Identity(found.user, how="password")
        return None

    def _token(self, text: str, user: str, address: str) -> Identity:
        """A right one is let in from wherever: nobody can guess it. So no user is counted."""
        token = self._tokens().find(text, datetime.now(UTC))
        if token is not None and user in ("", token.user):
            self._uses.note(token.id)
            return Identity(token.user, token.scope, how="token")
        password = text.encode("utf-8", "surrogateescape")
        if self._wrong.has(user, password, ""):
            raise LoginFailed
        self._guesses.check_address(address)
        self._wrong.add(user, password, "")
        self._guesses.failed(address)
        self._log_failure(address, user, "token")
        raise LoginFailed

    def _log_failure(self, address: str, user: str, what: str) -> None:
        shown = ascii(user[:USER_SHOWN]) if user else "-"
        log.warning("failed login from %s: user %s, wrong %s", address, shown, what)


def told(shown: Shown, name: bytes) -> bytes:
    """By a proxy; `name` is b"" where none is believed. Raises: PeerError."""
    value = shown.get(name) if name else b""
    return b"" if value in NO_VALUES else value


def checked_user(name: str) -> str:
    """Raises: PeerError: a proxy that we trust names somebody whom nobody can be."""
    if not is_user_name(name):
        raise PeerError("the proxy names a user who can be none", status=403)
    return name


def watch_passwords(path: str) -> Callable[[], Passwords]:
    return Watched(path, parse_passwords).get if path else lambda: NO_PASSWORDS


def watch_tokens(path: str) -> Callable[[], Tokens]:
    return Watched(path, parse_tokens).get if path else lambda: NO_TOKENS
