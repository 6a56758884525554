"""Who is asking, once that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trunkline.access.glob import matches_any

How = Literal["", "password", "token", "proxy", "certificate"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a token may at most: its user's rights within these repositories."""

    repositories: tuple[str, ...]
    may_write: bool

    def covers(self, name: str) -> bool:
        """`name`: of a repository, its URL path without slashes at the ends."""
        return matches_any(self.repositories, name)


@dataclass(frozen=True, slots=True)
class Identity:
    """`user` is "" for who is anonymous. `scope` is None for who may all that the user may."""

    user: str = ""
    scope: Scope | None = None
    how: How = ""

    @property
    def is_anonymous(self) -> bool:
        return not self.user


ANONYMOUS = Identity()
