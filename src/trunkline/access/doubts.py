"""What about access looks unsafe, or does nothing: for `trunkline check`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

from trunkline.access.htpasswd import NO_PASSWORDS, Passwords
from trunkline.access.rules import Rules
from trunkline.access.summary import Summary
from trunkline.access.tokens import NO_TOKENS, Tokens
from trunkline.config.auth import ANYONE, EVERY_USER, GROUP
from trunkline.config.settings import Settings

SOON = timedelta(days=14)
SHOWN = 5  # names in one line
WIDE_BITS = 8  # a network of proxies this wide or wider is no list of proxies


@dataclass(frozen=True, slots=True)
class Doubt:
    """`is_unsafe`: somebody may do, or learn, more than was meant. Else something does nothing."""

    text: str
    is_unsafe: bool = True


@dataclass(frozen=True, slots=True)
class Facts:
    """`is_local`: only this machine reaches the address that is listened on."""

    settings: Settings
    is_local: bool
    settings_file: str = ""
    passwords: Passwords = NO_PASSWORDS
    tokens: Tokens = NO_TOKENS
    served: Sequence[Summary] = ()
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def is_encrypted(self) -> bool:
        """As far as we know: a proxy that we are told of is expected to do it."""
        settings = self.settings
        return bool(settings.tls.certificate or settings.server.trusted_proxies) or self.is_local

    @property
    def has_users(self) -> bool:
        return self.settings.auth.has_users

    @property
    def knows_all_users(self) -> bool:
        """Nobody comes from elsewhere."""
        auth = self.settings.auth
        return auth.has_logins and not (auth.user_header or auth.certificate_header)

    @property
    def users(self) -> set[str]:
        return {*self.passwords.entries, *(token.user for token in self.tokens.by_id.values())}


def find_doubts(facts: Facts) -> list[Doubt]:
    return [doubt for check in CHECKS for doubt in check(facts)]


def open_writing(facts: Facts) -> Iterator[Doubt]:
    if facts.settings.allow_write == "anonymous":
        if not facts.is_local:
            yield Doubt("everyone who reaches the address may write: allow_write = anonymous")
        return
    names = [one.name or "/" for one in facts.served if one.writes.is_everyone]
    if names:
        yield Doubt(f"everyone may write to {some(names)}, without a login")


def clear_passwords(facts: Facts) -> Iterator[Doubt]:
    if facts.settings.auth.has_logins and not facts.is_encrypted:
        yield Doubt(
            "passwords and tokens cross the network in the clear: there is no [tls] and no "
            "proxy in server.trusted_proxies"
        )


def proxies(facts: Facts) -> Iterator[Doubt]:
    auth, trusted = facts.settings.auth, facts.settings.server.trusted_proxies
    headers = [name for name in ("user_header", "certificate_header") if getattr(auth, name)]
    for name in headers:
        if not trusted:
            yield Doubt(f"auth.{name} does nothing: server.trusted_proxies is empty", False)
    for word in trusted:
        if "/" in word and int(word.rpartition("/")[2]) <= WIDE_BITS:
            what = f"can be whoever it says, by auth.{headers[0]}" if headers else "is believed"
            yield Doubt(f"server.trusted_proxies: whatever comes from {word} {what}")


def files(facts: Facts) -> Iterator[Doubt]:
    settings = facts.settings
    secret = (settings.auth.password_file, settings.auth.token_file, settings.tls.key)
    for path in filter(None, (*secret, settings.tls.certificate, facts.settings_file)):
        mode = mode_of(path)
        if mode & stat.S_IWOTH:
            yield Doubt(f"{path}: anybody on this machine can write to it (chmod o-w)")
        elif path in secret and mode & stat.S_IROTH:
            yield Doubt(f"{path}: anybody on this machine can read it (chmod o-r)")
        folder = os.path.dirname(os.path.realpath(path))
        if mode_of(folder) & stat.S_IWOTH and not mode_of(folder) & stat.S_ISVTX:
            yield Doubt(f"{folder}: anybody on this machine can replace what is in it (chmod o-w)")


def mode_of(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def weak_hashes(facts: Facts) -> Iterator[Doubt]:
    weak = [user for user, entry in facts.passwords.entries.items() if entry.kind.is_weak]
    if weak:
        yield Doubt(
            f"{facts.settings.auth.password_file}: weakly hashed passwords of {some(weak)}: "
            "set them anew with htpasswd -B"
        )


def rules(facts: Facts) -> Iterator[Doubt]:
    settings = facts.settings
    rights = Rules(settings.access, settings.groups, settings.auth.anonymous_read).rights
    deciding = {one.rule for one in facts.served}
    for right in rights:
        where = f"access, rule {right.number}"
        above = next((one for one in rights[: right.number - 1] if "**" in one.repositories), None)
        if above is not None:
            yield Doubt(f"{where} is never asked: rule {above.number} matches everything")
        elif right.number not in deciding:
            yield Doubt(f"{where} decides about no repository that is there", False)
    if settings.access and not facts.has_users:
        yield Doubt("nobody can log in: [auth] names no file and no header", False)


def people(facts: Facts) -> Iterator[Doubt]:
    """Names that nobody has: of a typing error, or free for whoever gets them."""
    settings = facts.settings
    for group, users in settings.groups.items():
        if not users:
            yield Doubt(f"group {group} is empty", False)
        if not any(group in rule.groups for rule in settings.access):
            yield Doubt(f"group {group} stands in no rule", False)
    if not facts.knows_all_users:
        return
    named = {word for rule in settings.access for word in (*(rule.read or ()), *rule.write)}
    named = {word for word in named if not word.startswith(GROUP)} - {ANYONE, EVERY_USER}
    named.update(*settings.groups.values())
    if unknown := sorted(named - facts.users):
        yield Doubt(f"no password and no token for {some(unknown)}, whom rules name", False)


def tokens(facts: Facts) -> Iterator[Doubt]:
    for token in facts.tokens.by_id.values():
        who = f"token {token.id} of {token.user}"
        if token.expires is None:
            yield Doubt(f"{who} never expires", token.write)
        elif token.is_expired(facts.now):
            yield Doubt(f"{who} is over since {token.expires:%Y-%m-%d}", False)
        elif token.expires - facts.now < SOON:
            yield Doubt(f"{who} expires on {token.expires:%Y-%m-%d}", False)


def pushes(facts: Facts) -> Iterator[Doubt]:
    """What is allowed, and can't be done."""
    settings = facts.settings
    if settings.tls.certificate or settings.server.trusted_proxies:
        return
    names = [
        one.name or "/" for one in facts.served if one.needs_ssl and str(one.writes) != "nobody"
    ]
    if names:
        yield Doubt(
            f"nobody can push to {some(names)}: web.push_ssl wants https, and there is no [tls] "
            "and no proxy in server.trusted_proxies",
            False,
        )


CHECKS: tuple[Callable[[Facts], Iterator[Doubt]], ...] = (
    open_writing,
    clear_passwords,
    proxies,
    files,
    weak_hashes,
    rules,
    people,
    tokens,
    pushes,
)


def some(words: Iterable[str]) -> str:
    words = list(words)
    more = len(words) - SHOWN
    shown = ", ".join(islice(words, SHOWN))
    return f"{shown} and {more} more" if more > 0 else shown
