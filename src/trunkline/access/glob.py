"""Which repositories a rule or a token is about, by their URL paths.

`*` and `?` stand for any characters but `/`, and `**`, as a whole part, for any number of parts, of
which the last is not left out: `team/**` is all below `team`, not `team` itself. `**` alone is
everything, the repository at `/` too, whose path is "".
"""

from __future__ import annotations

from collections.abc import Iterable

DEEP = "**"


def matches_any(globs: Iterable[str], path: str) -> bool:
    return any(matches(glob, path) for glob in globs)


def matches(glob: str, path: str) -> bool:
    """Time grows with the product of the lengths, never faster, whatever is asked."""
    if glob == DEEP:
        return True
    parts = path.split("/") if path else []
    # What is left of the path's parts, by how many of them the glob's parts so far have taken.
    taken = {0}
    words = glob.split("/")
    for place, word in enumerate(words):
        if word == DEEP:
            least = min(taken) + (place == len(words) - 1)
            taken = set(range(least, len(parts) + 1))
        else:
            taken = {at + 1 for at in taken if at < len(parts) and matches_part(word, parts[at])}
        if not taken:
            return False
    return len(parts) in taken


def matches_part(glob: str, text: str) -> bool:
    """One part of a path: the last `*` alone is ever tried again, a character further on."""
    at, place = 0, 0
    star, star_at = -1, 0
    while at < len(text):
        if place < len(glob) and glob[place] == "*":
            star, star_at = place, at
            place += 1
        elif place < len(glob) and glob[place] in ("?", text[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            star_at += 1
            place, at = star + 1, star_at
        else:
            return False
    return all(char == "*" for char in glob[place:])
