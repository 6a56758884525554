from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trunkline.access.doubts import Facts, find_doubts
from trunkline.access.htpasswd import parse_passwords
from trunkline.access.judge import Judge
from trunkline.access.rules import Rules
from trunkline.access.summary import Summary, summarise
from trunkline.access.tokens import Token, Tokens, make_token
from trunkline.config.auth import Auth, Rule, Tls
from trunkline.config.hgconfig import HgConfig
from trunkline.config.settings import Server, Settings

NOW = datetime(2030, 1, 1, tzinfo=UTC)
GOOD = parse_passwords(b"alice:$2y$05$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4a\n")
WEAK = parse_passwords(b"bob:1s/.Cuir7NXBw\ncarol:{SHA}4NPDM/3N1xhO4z/lGdXdb9NzViA=\n")
PROXY = Server(trusted_proxies=["127.0.0.1"])


def facts(settings: Settings, *served: tuple[str, dict[str, str]], **changes: Any) -> Facts:
    rules = Rules(settings.access, settings.groups, settings.auth.anonymous_read)
    judge = Judge(rules, settings.allow_write == "anonymous", True)
    found: list[Summary] = [
        summarise(judge, name, HgConfig({}, {("web", key): word for key, word in web.items()}))
        for name, web in served
    ]
    return Facts(settings, changes.pop("is_local", False), served=found, now=NOW, **changes)


def unsafe(one: Facts) -> list[str]:
    return [doubt.text for doubt in find_doubts(one) if doubt.is_unsafe]


def notes(one: Facts) -> list[str]:
    return [doubt.text for doubt in find_doubts(one) if not doubt.is_unsafe]


def test_defaults_give_no_doubt() -> None:
    assert find_doubts(facts(Settings(), ("a", {}), is_local=True)) == []
    assert find_doubts(facts(Settings(), ("a", {}))) == []


def test_a_sound_site_gives_no_doubt() -> None:
    settings = Settings(
        auth=Auth(password_file="/none/p"), server=PROXY, access=[Rule(["a"], write=["alice"])]
    )
    assert find_doubts(facts(settings, ("a", {}), ("b", {}), passwords=GOOD)) == []


@pytest.mark.parametrize(("is_local", "count"), [(True, 0), (False, 1)])
def test_anonymous_writing_on_a_public_address(is_local: bool, count: int) -> None:
    settings = Settings(allow_write="anonymous", insecure=True)
    found = unsafe(facts(settings, ("a", {}), is_local=is_local))
    assert len([text for text in found if "everyone who reaches" in text]) == count


def test_anonymous_writing_by_a_repository() -> None:
    found = unsafe(facts(Settings(), ("a", {"allow-push": "*"}), ("b", {}), is_local=True))
    assert found == ["everyone may write to a, without a login"]


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"server": PROXY}, 0),
        ({"tls": Tls(certificate="/none/c", key="/none/k")}, 0),
    ],
)
def test_passwords_in_the_clear(changes: dict[str, Any], count: int) -> None:
    settings = Settings(auth=Auth(password_file="/none/p"), **changes)
    assert len([text for text in unsafe(facts(settings)) if "in the clear" in text]) == count
    assert unsafe(facts(settings, is_local=True)) == []


def test_header_of_a_proxy() -> None:
    auth = Auth(user_header="X-User")
    assert notes(facts(Settings(auth=auth))) == [
        "auth.user_header does nothing: server.trusted_proxies is empty"
    ]
    wide = Settings(auth=auth, server=Server(trusted_proxies=["0.0.0.0/0", "10.0.0.0/24", "unix"]))
    (text,) = unsafe(facts(wide))
    assert "0.0.0.0/0 can be whoever it says" in text


def test_files_that_others_can_reach(tmp_path: Path) -> None:
    password, settings_file = tmp_path / "p", tmp_path / "s.toml"
    for path in (password, settings_file):
        path.touch()
        path.chmod(0o640)
    settings = Settings(auth=Auth(password_file=str(password)))
    one = facts(settings, is_local=True, settings_file=str(settings_file))
    assert unsafe(one) == []
    password.chmod(0o644)
    settings_file.chmod(0o644)  # holds no secret
    assert unsafe(one) == [f"{password}: anybody on this machine can read it (chmod o-r)"]
    password.chmod(0o646)
    settings_file.chmod(0o646)
    assert [text.partition(": ")[0] for text in unsafe(one)] == [str(password), str(settings_file)]
    for path in (password, settings_file):
        path.chmod(0o600)
    os.chmod(tmp_path, 0o777)
    assert "replace" in unsafe(one)[0]
    os.chmod(tmp_path, 0o1777)
    assert unsafe(one) == []


def test_weak_hashes() -> None:
    settings = Settings(auth=Auth(password_file="/none/p"))
    (text,) = unsafe(facts(settings, is_local=True, passwords=WEAK))
    assert "bob, carol" in text
    assert "htpasswd -B" in text


def test_rules_that_do_nothing() -> None:
    settings = Settings(
        auth=Auth(password_file="/none/p"),
        access=[Rule(["typo"], read=["*"]), Rule(), Rule(["a"], read=[])],
    )
    one = facts(settings, ("a", {}), is_local=True)
    assert unsafe(one) == ["access, rule 3 is never asked: rule 2 matches everything"]
    assert notes(one) == ["access, rule 1 decides about no repository that is there"]


def test_people_who_are_not_there() -> None:
    settings = Settings(
        auth=Auth(password_file="/none/p"),
        server=PROXY,
        groups={"dev": ["alice", "bbo"], "empty": [], "unused": ["alice"]},
        access=[Rule(["a"], read=["*", "anonymous"], write=["@dev", "@empty", "dvae"])],
    )
    assert notes(facts(settings, ("a", {}), passwords=GOOD)) == [
        "group empty is empty",
        "group unused stands in no rule",
        "no password and no token for bbo, dvae, whom rules name",
    ]


def test_rules_without_a_way_to_log_in() -> None:
    settings = Settings(access=[Rule(["a"], write=["alice"])], server=PROXY)
    assert notes(facts(settings, ("a", {}))) == [
        "nobody can log in: [auth] names no file and no header"
    ]


def test_tokens() -> None:
    def one(days: float | None, write: bool) -> Token:
        expires = None if days is None else NOW + timedelta(days=days)
        return make_token("ci", ("**",), write, expires).token

    made = [one(None, True), one(None, False), one(-1, True), one(3, True), one(90, True)]
    settings = Settings(auth=Auth(token_file="/none/t"))
    found = facts(settings, is_local=True, tokens=Tokens({each.id: each for each in made}))
    assert unsafe(found) == [f"token {made[0].id} of ci never expires"]
    assert [text.partition("of ci ")[2] for text in notes(found)] == [
        "never expires",
        "is over since 2029-12-31",
        "expires on 2030-01-04",
    ]


def test_pushes_that_cannot_be() -> None:
    settings = Settings(auth=Auth(password_file="/none/p"), access=[Rule(write=["alice"])])
    one = facts(settings, ("a", {}), ("b", {"push_ssl": "no"}), is_local=True, passwords=GOOD)
    (text,) = notes(one)
    assert text.startswith("nobody can push to a: web.push_ssl wants https")
