"""Who may do what by the settings file: `[[access]]`, `[groups]` and what holds without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from trunkline.access.glob import matches_any
from trunkline.access.identity import Identity
from trunkline.config.auth import ANYONE, EVERY_USER, GROUP, Rule

KEPT_NAMES = 4096  # repositories whose rule is remembered


class Verdict(Enum):
    """`LOGIN`: not as this one, but somebody could. `NOBODY`: nobody can. `SILENT`: nothing is
    said.
    """

    ALLOWED = "allowed"
    LOGIN = "login"
    NOBODY = "nobody"
    SILENT = "silent"


STRICTNESS = (Verdict.SILENT, Verdict.ALLOWED, Verdict.LOGIN, Verdict.NOBODY)


@dataclass(frozen=True, slots=True)
class People:
    """Those whom a list of words means."""

    is_everyone: bool = False
    is_every_user: bool = False
    users: frozenset[str] = frozenset()

    def __contains__(self, user: object) -> bool:
        """ "" is who isn't logged in."""
        return self.is_everyone or (bool(user) and (self.is_every_user or user in self.users))

    @property
    def is_nobody(self) -> bool:
        return not (self.is_everyone or self.is_every_user or self.users)

    @property
    def has_every_user(self) -> bool:
        return self.is_everyone or self.is_every_user

    def __and__(self, other: People) -> People:
        return People(
            self.is_everyone and other.is_everyone,
            self.has_every_user and other.has_every_user,
            frozenset(user for user in self.users | other.users if user in self and user in other),
        )

    def __or__(self, other: People) -> People:
        return People(
            self.is_everyone or other.is_everyone,
            self.is_every_user or other.is_every_user,
            self.users | other.users,
        )


@dataclass(frozen=True, slots=True)
class Right:
    """What one rule gives, its words resolved. `number` counts from 1, as in the file."""

    number: int
    repositories: tuple[str, ...]
    readers: People
    writers: People


class Rules:
    """Immutable; made anew when the settings change. Thread-safe."""

    def __init__(
        self, rules: Sequence[Rule], groups: Mapping[str, Iterable[str]], anonymous_read: bool
    ) -> None:
        self.default = People(is_everyone=anonymous_read, is_every_user=True)
        self.rights = tuple(
            self._right(number, rule, groups) for number, rule in enumerate(rules, 1)
        )
        self.find = lru_cache(KEPT_NAMES)(self._find)

    def _right(self, number: int, rule: Rule, groups: Mapping[str, Iterable[str]]) -> Right:
        writers = people(rule.write, groups)
        readers = self.default if rule.read is None else people(rule.read, groups)
        return Right(number, tuple(rule.repositories), readers | writers, writers)

    def _find(self, name: str) -> Right | None:
        """The first that is about this repository."""
        return next((one for one in self.rights if matches_any(one.repositories, name)), None)

    def reading(self, name: str, who: Identity) -> Verdict:
        """`name`: the repository's URL path without slashes at the ends. It may be of none: what
        is said about it must not depend on that. Silent: `default` holds, unless [web] knows.
        """
        right = self.find(name)
        verdict = judge(right.readers, who) if right else Verdict.SILENT
        is_covered = who.scope is None or who.scope.covers(name)
        return verdict if is_covered else Verdict.LOGIN

    def writing(self, name: str, who: Identity) -> Verdict:
        right = self.find(name)
        verdict = judge(right.writers, who) if right else Verdict.SILENT
        is_covered = who.scope is None or (who.scope.may_write and who.scope.covers(name))
        return verdict if is_covered else Verdict.LOGIN


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """What one refuses is refused; silent only when all are."""
    return max(verdicts, key=STRICTNESS.index)


def judge(allowed: People, who: Identity) -> Verdict:
    if who.user in allowed:
        return Verdict.ALLOWED
    return Verdict.NOBODY if allowed.is_nobody else Verdict.LOGIN


def people(words: Iterable[str], groups: Mapping[str, Iterable[str]]) -> People:
    words = list(words)
    users: set[str] = set()
    for word in words:
        if word.startswith(GROUP):
            users.update(groups[word.removeprefix(GROUP)])
        elif word not in (ANYONE, EVERY_USER):
            users.add(word)
    return People(ANYONE in words, EVERY_USER in words, frozenset(users))
