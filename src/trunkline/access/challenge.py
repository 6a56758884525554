"""How an answer says that one could log in, and in which ways. Source: RFC 9110, section 11.6.1."""

from __future__ import annotations

MERCURIAL = b"mercurial"


def challenges(realm: str, user_agent: bytes) -> list[tuple[bytes, bytes]]:
    """Basic first: clients on Python's urllib look at nothing else.

    Not both for Mercurial: under Python 2 it joined them and took the last one.
    """
    quoted = quote(realm).encode("ascii")
    found = [(b"www-authenticate", b'Basic realm="%s", charset="UTF-8"' % quoted)]
    if MERCURIAL not in user_agent.lower():
        found.append((b"www-authenticate", b'Bearer realm="%s"' % quoted))
    return found


def quote(text: str) -> str:
    """As a quoted-string, whose marks stand around it already."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
