"""Hashes of passwords, as `htpasswd` and crypt(3) write them, and whether a password fits one.

Source: htpasswd(1); Apache's "Password Formats"; for the older kinds, libpass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import bcrypt
from passlib.handlers.des_crypt import des_crypt
from passlib.handlers.ldap_digests import ldap_salted_sha1, ldap_sha1
from passlib.handlers.md5_crypt import apr_md5_crypt, md5_crypt
from passlib.handlers.sha2_crypt import sha256_crypt, sha512_crypt

BCRYPT_BYTES = 72  # bytes of a password that bcrypt looks at; htpasswd cuts it without a word
COST_LIMIT = 16  # as a power of two: some seconds of CPU for one login
ROUNDS_LIMIT = 1_000_000  # of SHA crypt, likewise

Verify = Callable[[bytes, str], bool]


@dataclass(frozen=True, slots=True)
class Kind:
    """`form` is the whole hash. `is_weak`: made for the computers of another century."""

    name: str
    form: re.Pattern[str]
    verify: Verify
    is_weak: bool

    def fits(self, text: str) -> bool:
        found = self.form.fullmatch(text)
        if found is None:
            return False
        effort = found.groupdict()
        cost, rounds = effort.get("cost"), effort.get("rounds")
        return (cost is None or 4 <= int(cost) <= COST_LIMIT) and (
            rounds is None or 1000 <= int(rounds) <= ROUNDS_LIMIT
        )


def verify_bcrypt(password: bytes, text: str) -> bool:
    return bcrypt.checkpw(password[:BCRYPT_BYTES], text.encode("ascii"))


def by(handler: type) -> Verify:
    """Of libpass. It looks a handler's name up in no list of ours, so nothing else is loaded."""

    def verify(password: bytes, text: str) -> bool:
        return bool(handler.verify(password, text))  # type: ignore[attr-defined]

    return verify


def form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("B64", "[./0-9A-Za-z]"), re.ASCII)


SHA2_SALT = r"(?:rounds=(?P<rounds>[0-9]{1,9})\$)?B64{0,16}"
# Each is a form of its own; that of DES crypt, which has no mark, stands last.
KINDS = (
    Kind("bcrypt", form(r"\$2[aby]\$(?P<cost>[0-9]{2})\$B64{53}"), verify_bcrypt, False),
    Kind("sha512", form(rf"\$6\${SHA2_SALT}\$B64{{86}}"), by(sha512_crypt), False),
    Kind("sha256", form(rf"\$5\${SHA2_SALT}\$B64{{43}}"), by(sha256_crypt), False),
    Kind("apr1", form(r"\$apr1\$B64{0,8}\$B64{22}"), by(apr_md5_crypt), True),
    Kind("md5", form(r"\$1\$B64{0,8}\$B64{22}"), by(md5_crypt), True),
    Kind("ssha", form(r"\{SSHA\}[A-Za-z0-9+/]{30,64}={0,2}"), by(ldap_salted_sha1), True),
    Kind("sha", form(r"\{SHA\}[A-Za-z0-9+/]{27}="), by(ldap_sha1), True),
    Kind("crypt", form(r"B64{13}"), by(des_crypt), True),
)


def find_kind(text: str) -> Kind | None:
    """None for what is no hash that we know; plain text is none."""
    return next((kind for kind in KINDS if kind.fits(text)), None)


def verify(kind: Kind, password: bytes, text: str) -> bool:
    """Takes as long as the hash wants, which may be a second. bcrypt lets go of the GIL."""
    try:
        return kind.verify(password, text)
    except (
        ValueError,
        TypeError,
    ):  # a form that fits, and yet is none: a digit too much at its end
        return False
