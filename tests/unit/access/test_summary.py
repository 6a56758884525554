from __future__ import annotations

import pytest

from trunkline.access.judge import Judge
from trunkline.access.rules import People, Rules
from trunkline.access.summary import summarise
from trunkline.config.auth import Rule
from trunkline.config.hgconfig import HgConfig


@pytest.mark.parametrize(
    ("rule", "web", "reads", "writes"),
    [
        (None, {}, "everyone", "nobody"),
        (None, {"allow-push": "*"}, "everyone", "everyone"),
        (None, {"allow-push": "bob, alice"}, "everyone", "alice, bob"),
        (None, {"allow-push": "bob, alice", "deny_push": "bob"}, "everyone", "alice"),
        (None, {"allow-push": "*", "deny_push": "bob"}, "everyone", "every user but bob"),
        (None, {"allow-push": "*", "deny-push": "*"}, "everyone", "nobody"),
        (None, {"deny_read": "bob"}, "every user but bob", "nobody"),
        (None, {"allow_read": "alice", "allow-push": "*"}, "alice", "alice"),
        (Rule(read=["*"], write=["alice"]), {}, "every user", "alice"),
        (Rule(read=[], write=["@dev"]), {}, "alice, bob", "alice, bob"),
        (Rule(read=[], write=[]), {}, "nobody", "nobody"),
        (Rule(write=["@dev"]), {"allow-push": "bob"}, "everyone", "bob"),
        (Rule(write=["*"]), {"allow-push": "bob"}, "everyone", "bob"),
        (Rule(write=["*"]), {"allow_read": "bob"}, "bob", "bob"),
        (Rule(write=["alice"]), {"allow_read": "bob"}, "bob", "nobody"),
        (Rule(write=["anonymous"]), {}, "everyone", "everyone"),
        (Rule(read=["carol"], write=["alice"]), {"deny_read": "alice"}, "carol", "nobody"),
    ],
)
def test_words(rule: Rule | None, web: dict[str, str], reads: str, writes: str) -> None:
    rules = Rules([rule] if rule else [], {"dev": ["alice", "bob"]}, True)
    config = HgConfig({}, {("web", name): value for name, value in web.items()})
    found = summarise(Judge(rules, False, True), "r", config)
    assert (str(found.reads), str(found.writes)) == (reads, writes)
    assert found.rule == (1 if rule else None)


def test_anonymous_writing() -> None:
    judge = Judge(Rules([Rule(read=["alice"])], {}, True), True, True)
    found = summarise(judge, "r", HgConfig())
    assert (str(found.writes), found.needs_ssl) == ("alice", False)


def test_many_names_are_counted() -> None:
    rules = Rules([Rule(write=[f"user{number}" for number in range(20)])], {}, True)
    found = summarise(Judge(rules, False, True), "r", HgConfig())
    assert str(found.writes).endswith("and 12 more")


def test_and_or() -> None:
    everyone, every_user = People(True, True), People(False, True)
    alice = People(users=frozenset({"alice"}))
    assert everyone & alice == alice
    assert every_user & alice == alice
    assert (everyone & every_user) == every_user
    assert "" not in (everyone & every_user)
    assert "bob" in (alice | every_user)
    assert "" in (alice | everyone)
