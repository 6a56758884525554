"""Settings of who somebody is, and who may do what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Struct, field

from trunkline.config.fields import unit, words

ANYONE = "anonymous"  # logged in or not
EVERY_USER = "*"  # who is logged in
GROUP = "@"  # stands before the name of a group
NAME_LIMIT = 255  # characters of a user's name
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

GROUPS = """\
Users of each group, for rules, which call it `@NAME`. Groups hold no other groups."""


class Auth(Struct, frozen=True, forbid_unknown_fields=True):
    """How somebody shows who they are. Without any of `password_file`, `token_file`, `user_header`
    and `certificate_header` everybody is anonymous. This section, `[groups]` and `[[access]]` are
    read again when the file changes; a broken one leaves what was good in force, and says so.
    """

    password_file: Annotated[
        str,
        words(
            "What `htpasswd` writes: bcrypt (`htpasswd -B`, take this), SHA-512 and SHA-256 crypt, "
            "and for files that are old, apr1-MD5, MD5 crypt, `{SHA}`, `{SSHA}` and crypt. "
            "Relative to the settings file; read again when it changes."
        ),
    ] = ""
    token_file: Annotated[
        str,
        words(
            "Made by `trunkline token create`. A token goes as `Authorization: Bearer`, or as the "
            "password of its user. Relative to the settings file; read again when it changes. The "
            "folder `FILE.used` beside it holds when each was last used."
        ),
    ] = ""
    user_header: Annotated[
        str,
        words(
            "Header in which a proxy of `trusted_proxies` names the user that it has let in; "
            "ignored from everybody else. The proxy must set or remove it on each request."
        ),
    ] = ""
    certificate_header: Annotated[
        str,
        words(
            "Header in which such a proxy gives the subject of the client certificate that it has "
            "verified, as `CN=alice,O=Example` (RFC 4514). The older `/O=Example/CN=alice` is "
            "refused: a slash in one of its values could make it another user's."
        ),
    ] = ""
    certificate_field: Annotated[
        str, words("The part of that subject which is the user's name; it must stand there once.")
    ] = "CN"
    realm: Annotated[str, words("What a client shows when it asks for a password.")] = "Trunkline"
    anonymous_read: Annotated[
        bool,
        words("Whether everybody may read where no rule and no `web.allow_read` says who."),
    ] = True
    verified_seconds: Annotated[
        int,
        unit(
            "seconds",
            "A password that was right is known for so long without being hashed again; a change "
            "of the password file counts at once. 0: never.",
        ),
    ] = 300
    verified: Annotated[
        int, unit("logins", "Known in this way in a worker, least recently used out.", ge=1)
    ] = 10_000
    threads: Annotated[
        int,
        unit(
            "threads",
            "Threads of a worker that hash passwords. More logins wait; addresses take turns.",
            ge=1,
        ),
    ] = 2
    failures_per_login: Annotated[
        int,
        unit(
            "failures",
            "Of one user from one address in `failure_seconds`; more are told 429, whatever the "
            "password. An IPv6 address counts by its first 64 bits.",
            ge=1,
        ),
    ] = 10
    failures_per_address: Annotated[
        int, unit("failures", "Of all users from one address, in the same way.", ge=1)
    ] = 100
    failures_per_user: Annotated[
        int,
        unit(
            "failures",
            "Of one user from all addresses. Past it, only addresses from which the user has "
            "logged in before are let in.",
            ge=1,
        ),
    ] = 100
    failure_seconds: Annotated[
        int, unit("seconds", "After which a failure is forgotten.", ge=1)
    ] = 300
    failures_kept: Annotated[
        int,
        unit("entries", "Addresses and users that a worker counts for, oldest out.", ge=100),
    ] = 30_000

    def __post_init__(self) -> None:
        for name in ("user_header", "certificate_header"):
            value = getattr(self, name)
            if value and not HEADER_NAME.fullmatch(value):
                raise ValueError(f"`{name}`: {value!r} is no name of a header")
        if not (self.realm.isascii() and self.realm.isprintable()):
            raise ValueError(f"`realm`: {self.realm!r} is not printable ASCII")

    @property
    def has_logins(self) -> bool:
        """Whether a client can log in by what it sends."""
        return bool(self.password_file or self.token_file)

    @property
    def has_users(self) -> bool:
        """Whether anybody can be other than anonymous."""
        return self.has_logins or bool(self.user_header or self.certificate_header)


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may read and write which repositories. The first rule that matches a repository's URL
    path decides for it, alone. Where none matches, everybody reads (see `anonymous_read`) and
    nobody writes. Words are names of users, `@GROUP`, `*` for everyone who is logged in and
    `anonymous` for everyone. Mercurial's `[web]` lists are asked as well: what any of the two
    refuses is refused, and a push needs one of them to allow it.
    """

    repositories: Annotated[
        list[str],
        words(
            "URL paths without slashes at their ends. `*` and `?` stand for any characters but "
            "`/`, `**` for any number of folders: `team/**` is all below `team`, `**` is all."
        ),
    ] = field(default_factory=lambda: ["**"])
    read: Annotated[
        list[str] | None,
        words(
            "Who may read, besides those who may write. Not given: as `anonymous_read` says; "
            "`[]`: nobody else."
        ),
    ] = None
    write: Annotated[list[str], words("Who may read and write.")] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_globs(self.repositories)
        for word in (*(self.read or ()), *self.write):
            if word not in (ANYONE, EVERY_USER) and not is_user_name(word.removeprefix(GROUP)):
                raise ValueError(f"`access`: {word!r} can be no user, and is no word of a rule")

    @property
    def groups(self) -> Iterable[str]:
        """The names of those it speaks of."""
        for word in (*(self.read or ()), *self.write):
            if word.startswith(GROUP):
                yield word.removeprefix(GROUP)


class Tls(Struct, frozen=True, forbid_unknown_fields=True):
    """Encrypted connections, without a proxy in front. Renewed files are taken up by themselves:
    workers are replaced one by one, and running replies have `server.stop_seconds` to end.
    """

    certificate: Annotated[
        str, words('PEM file, the chain included; `""`: no TLS. Relative to the settings file.')
    ] = ""
    key: Annotated[str, words("Its private key: PEM, PKCS#8, without a password.")] = ""
    client_ca: Annotated[
        str,
        words(
            "PEM file of authorities: only clients with a certificate of theirs get a connection. "
            "To make a user's name of the certificate, take a proxy and `certificate_header`."
        ),
    ] = ""
    minimum: Annotated[Literal["1.2", "1.3"], words("Oldest version of TLS.")] = "1.2"
    check_seconds: Annotated[
        int, unit("seconds", "Between looks whether the files are other ones.", ge=1)
    ] = 60

    def __post_init__(self) -> None:
        if bool(self.certificate) != bool(self.key) or (self.client_ca and not self.certificate):
            raise ValueError("`tls`: `certificate` and `key` go together, and before `client_ca`")


def is_user_name(text: str) -> bool:
    """Whether somebody can be called so: never what a rule means something else by."""
    return (
        0 < len(text) <= NAME_LIMIT
        and text not in (ANYONE, EVERY_USER)
        and not text.startswith(GROUP)
        and ":" not in text
        and text == text.strip()
        and not any(char < " " or "\x7f" <= char <= "\x9f" for char in text)
    )


def check_globs(globs: Iterable[str]) -> None:
    """Raises: ValueError for one that could match nothing, which somebody took for something."""
    for glob in globs:
        if not all(glob.split("/")):
            raise ValueError(f"`repositories`: {glob!r} must have no empty part between slashes")
        if any("**" in part and part != "**" for part in glob.split("/")):
            raise ValueError(f"`repositories`: in {glob!r}, `**` must stand alone between slashes")


def check_groups(groups: Mapping[str, Iterable[str]], rules: Iterable[Rule]) -> None:
    """Raises: ValueError for a name that can be none, and a rule about a group that isn't there."""
    for group, users in groups.items():
        for name in (group, *users):
            if not is_user_name(name):
                raise ValueError(f"`groups.{group}`: {name!r} can be no name")
    for number, rule in enumerate(rules, 1):
        for group in rule.groups:
            if group not in groups:
                raise ValueError(f"`access`, rule {number}: there is no group {group!r}")
