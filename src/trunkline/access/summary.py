"""Who may do what with a repository, in words for the operator."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trunkline.access import web
from trunkline.access.judge import Judge
from trunkline.access.rules import People
from trunkline.config.auth import EVERY_USER
from trunkline.config.hgconfig import HgConfig

NAMES_SHOWN = 8
EVERYONE = People(is_everyone=True, is_every_user=True)
NOBODY = People()


@dataclass(frozen=True, slots=True)
class Allowed:
    """`denied`: of whom only the others are meant; with any denied, who is anonymous is, too."""

    people: People
    denied: frozenset[str] = frozenset()

    @property
    def is_everyone(self) -> bool:
        return self.people.is_everyone and not self.denied

    def __str__(self) -> str:
        people = self.people
        if people.has_every_user:
            whom = "everyone" if self.is_everyone else "every user"
            return f"{whom} but {names(self.denied)}" if self.denied else whom
        return names(people.users - self.denied)


@dataclass(frozen=True, slots=True)
class Summary:
    """`rule` is the number of the one that decides, None when none does."""

    name: str
    reads: Allowed
    writes: Allowed
    rule: int | None
    needs_ssl: bool
    beside: str = "[web]"  # what else is asked


def summarise(judge: Judge, name: str, config: HgConfig) -> Summary:
    """`name`: the repository's URL path."""
    right = judge.rules.find(name)
    listed, denied = listed_people(config, "allow_read", "allow-read"), denied_names(config, "read")
    readers = right.readers if right else (listed or judge.rules.default)
    reads = without(readers & (listed or EVERYONE), denied)
    allowed = listed_people(config, "allow-push", "allow_push")
    writers = right.writers & (allowed or EVERYONE) if right else (allowed or NOBODY)
    writes = without(writers & reads.people, denied_names(config, "push") | reads.denied)
    return Summary(
        name,
        reads,
        reads if judge.allow_anonymous else writes,
        right.number if right else None,
        web.needs_ssl(config) and not judge.allow_anonymous,
    )


def summarise_svn(judge: Judge, name: str, has_paths: bool) -> Summary:
    """`has_paths`: a file says who may write to which path."""
    right = judge.rules.find(name)
    reads = right.readers if right else judge.rules.default
    unsaid = replace(reads, is_everyone=False) if has_paths else NOBODY
    writes = right.writers if right else unsaid
    return Summary(
        name,
        Allowed(reads),
        Allowed(reads if judge.allow_anonymous else writes),
        right.number if right else None,
        False,
        "access_file" if has_paths else "",
    )


def listed_people(config: HgConfig, *spellings: str) -> People | None:
    """None: no list."""
    words = web.members(config, *spellings)
    if not words:
        return None
    return EVERYONE if set(words) == {EVERY_USER} else People(users=frozenset(words))


def denied_names(config: HgConfig, kind: str) -> frozenset[str]:
    return frozenset(web.members(config, f"deny_{kind}", f"deny-{kind}"))


def without(people: People, denied: frozenset[str]) -> Allowed:
    return Allowed(NOBODY) if denied == {EVERY_USER} else Allowed(people, denied)


def names(users: frozenset[str]) -> str:
    shown = sorted(users)[:NAMES_SHOWN]
    more = len(users) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if shown else "nobody"
