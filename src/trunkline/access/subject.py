"""The subject of a client certificate, as proxies write it, and the name of a user in it.

Wire: RFC 4514, `CN=alice,O=Example`: nginx (`$ssl_client_s_dn`), Apache (`SSL_CLIENT_S_DN`) and
Caddy (`{tls_client_subject}`). Not `/O=Example/CN=alice`, which OpenSSL wrote once: a slash in a
value can't be told there from the one before a name, and could make another name of it.
"""

from __future__ import annotations

import re

from trunkline.errors import PeerError

SUBJECT_LIMIT = 4 * 1024  # bytes
HEX_PAIR = re.compile("[0-9A-Fa-f]{2}")
NAME = re.compile("[A-Za-z][A-Za-z0-9-]*|[0-9]+([.][0-9]+)*")


def user_of_subject(subject: str, field: str) -> str:
    """The value of the one `field`. Raises: PeerError where there is none, or more than one: who
    could choose one part of a name must not become somebody else by another.
    """
    if len(subject) > SUBJECT_LIMIT:
        raise PeerError(f"a certificate's subject of more than {SUBJECT_LIMIT} bytes")
    found = [value for name, value in parse_subject(subject) if name.lower() == field.lower()]
    if len(found) != 1:
        raise PeerError(f"the certificate's subject has {len(found)} of {field}, not one", 403)
    return found[0]


def parse_subject(text: str) -> list[tuple[str, str]]:
    """Raises: PeerError, for a value in hexadecimal (`#...`) too."""
    return [parse_part(part) for part in split_unescaped(text)]


def parse_part(part: str) -> tuple[str, str]:
    name, equals, value = part.partition("=")
    value = value.lstrip(" ")
    if not equals or not NAME.fullmatch(name.strip(" ")) or value.startswith("#"):
        raise PeerError("the certificate's subject can't be read")
    return name.strip(" "), unescaped(value)


def split_unescaped(text: str) -> list[str]:
    """At `,`, `;` and the `+` of several values, but where a backslash or quotes say otherwise."""
    parts, part = [], ""
    is_escaped = is_quoted = False
    for char in text:
        if not is_escaped and not is_quoted and char in ",;+":
            parts.append(part)
            part = ""
            continue
        if char == '"' and not is_escaped:
            is_quoted = not is_quoted
        is_escaped = char == "\\" and not is_escaped
        part += char
    if is_escaped or is_quoted:
        raise PeerError("the certificate's subject ends too early")
    return [*parts, part]


def unescaped(value: str) -> str:
    r"""Without quotes and spaces around it; `\C3\A9` are bytes of UTF-8. Raises: PeerError."""
    out, spaces = bytearray(), b""
    rest = value
    while rest:
        char, rest = rest[0], rest[1:]
        if char == " ":  # at the end they aren't part of the value
            spaces += b" "
            continue
        data = char.encode("utf-8", "surrogatepass")
        if char == "\\":
            pair = HEX_PAIR.match(rest)
            taken = pair.group() if pair else rest[0]
            rest = rest[len(taken) :]
            data = bytes.fromhex(taken) if pair else taken.encode("utf-8", "surrogatepass")
        out += spaces + (b"" if char == '"' else data)
        spaces = b""
    try:
        return out.decode()
    except UnicodeDecodeError:
        raise PeerError("the certificate's subject isn't UTF-8") from None
