from __future__ import annotations

import pytest

from trunkline.access.identity import ANONYMOUS, Identity, Scope
from trunkline.access.rules import Rules, Verdict, strictest
from trunkline.config.auth import Rule

GROUPS = {"dev": ["alice", "bob"], "none": []}
ALLOWED, LOGIN, NOBODY, SILENT = Verdict.ALLOWED, Verdict.LOGIN, Verdict.NOBODY, Verdict.SILENT


def rules(*rules: Rule, anonymous_read: bool = True) -> Rules:
    return Rules(rules, GROUPS, anonymous_read)


def read(one: Rules, name: str, user: str = "") -> Verdict:
    return one.reading(name, Identity(user))


def write(one: Rules, name: str, user: str = "") -> Verdict:
    return one.writing(name, Identity(user))


def test_without_rules_nothing_is_said() -> None:
    for user in ("", "alice"):
        assert read(rules(), "a", user) is SILENT
        assert write(rules(), "a", user) is SILENT


@pytest.mark.parametrize(
    ("words", "anonymous", "alice", "carol"),
    [
        (["anonymous"], ALLOWED, ALLOWED, ALLOWED),
        (["*"], LOGIN, ALLOWED, ALLOWED),
        (["alice"], LOGIN, ALLOWED, LOGIN),
        (["@dev"], LOGIN, ALLOWED, LOGIN),
        (["@dev", "carol"], LOGIN, ALLOWED, ALLOWED),
        (["@none"], NOBODY, NOBODY, NOBODY),
        ([], NOBODY, NOBODY, NOBODY),
    ],
)
def test_words(words: list[str], anonymous: Verdict, alice: Verdict, carol: Verdict) -> None:
    expected = [anonymous, alice, carol]
    one = rules(Rule(["r"], read=words))
    assert [read(one, "r", user) for user in ("", "alice", "carol")] == expected
    one = rules(Rule(["r"], read=[], write=words))
    assert [write(one, "r", user) for user in ("", "alice", "carol")] == expected
    assert [read(one, "r", user) for user in ("", "alice", "carol")] == expected


def test_who_writes_reads() -> None:
    one = rules(Rule(["r"], read=["carol"], write=["alice"]))
    assert [read(one, "r", user) for user in ("alice", "carol", "bob", "")] == [
        ALLOWED,
        ALLOWED,
        LOGIN,
        LOGIN,
    ]
    assert write(one, "r", "carol") is LOGIN


def test_first_rule_that_matches_decides_alone() -> None:
    one = rules(
        Rule(["team/secret"], read=[], write=["alice"]),
        Rule(["team/**"], read=["*"], write=["bob"]),
        Rule(["**"], write=["carol"]),
    )
    assert write(one, "team/secret", "bob") is LOGIN
    assert read(one, "team/secret", "bob") is LOGIN
    assert write(one, "team/x", "alice") is LOGIN
    assert write(one, "team/x", "bob") is ALLOWED
    assert read(one, "team/x") is LOGIN
    assert write(one, "team/x", "carol") is LOGIN
    assert write(one, "other", "carol") is ALLOWED
    assert read(one, "other") is ALLOWED
    assert write(one, "", "carol") is ALLOWED  # the repository at `/`


@pytest.mark.parametrize(("anonymous_read", "verdict"), [(True, ALLOWED), (False, LOGIN)])
def test_rule_without_a_word_on_reading(anonymous_read: bool, verdict: Verdict) -> None:
    one = rules(Rule(["r"], write=["alice"]), anonymous_read=anonymous_read)
    assert read(one, "r") is verdict
    assert read(one, "r", "carol") is ALLOWED


@pytest.mark.parametrize("user", ["*", "@dev", "anonymous"])
def test_no_user_is_taken_for_a_word(user: str) -> None:
    """Nobody can be called so; and if somebody were, it would give nothing."""
    one = rules(Rule(["r"], read=["@dev"], write=["@dev"]))
    assert read(one, "r", user) is LOGIN


def test_token_gives_no_more_than_its_user_has() -> None:
    one = rules(Rule(["team/**"], read=["@dev"], write=["alice"]), Rule(["**"], write=["*"]))
    reading = Identity("alice", Scope(("team/a",), False))
    writing = Identity("bob", Scope(("team/*",), True))
    everything = Identity("alice", Scope(("**",), True))
    assert one.reading("team/a", reading) is ALLOWED
    assert one.writing("team/a", reading) is LOGIN
    assert one.reading("team/b", reading) is LOGIN
    assert one.reading("other", reading) is LOGIN  # though everybody may
    assert one.reading("team/b", writing) is ALLOWED
    assert one.writing("team/b", writing) is LOGIN
    assert one.writing("team/b", everything) is ALLOWED


def test_token_is_kept_to_its_scope_where_no_rule_speaks() -> None:
    one = rules()
    assert one.writing("a", Identity("alice", Scope(("**",), False))) is LOGIN
    assert one.writing("a", Identity("alice", Scope(("**",), True))) is SILENT
    assert one.reading("b", Identity("alice", Scope(("a",), True))) is LOGIN
    assert one.reading("b", ANONYMOUS) is SILENT


def test_strictest() -> None:
    assert strictest([SILENT, ALLOWED]) is ALLOWED
    assert strictest([ALLOWED, LOGIN, SILENT]) is LOGIN
    assert strictest([NOBODY, LOGIN]) is NOBODY
    assert strictest([SILENT, SILENT]) is SILENT
