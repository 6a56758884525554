"""`[web]` against hgweb's own checkauthz, for several users and every mix of the settings; and what
becomes of it where the settings' rules speak, too."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
from mercurial import ui as uimod
from mercurial.hgweb import common

from trunkline.access.identity import ANONYMOUS, Identity, Scope
from trunkline.access.judge import Asked, Judge, Refusal
from trunkline.access.rules import Rules
from trunkline.config.auth import Rule
from trunkline.config.hgconfig import HgConfig

LISTS = (None, "", "*", "alice", "*, alice", "bob")
SETTINGS = {
    "deny_read": (None, "*", "alice"),
    "allow_read": LISTS,
    "allow-pull": (None, "no"),
    "deny_push": (None, "", "*", "alice"),
    "allow-push": LISTS,
    "push_ssl": (None, "no", "yes"),
}
USERS = ("", "alice", "bob")


class Stock:
    """hgweb as far as checkauthz looks at it."""

    def __init__(self, values: dict[str, str]) -> None:
        self.ui = uimod.ui()
        for name, value in values.items():
            self.ui.setconfig(b"web", name.encode(), value.encode(), b"test")
        self.repo = SimpleNamespace(ui=self.ui)
        self.configlist = self.ui.configlist
        self.configbool = self.ui.configbool
        self.allowpull = self.ui.configbool(b"web", b"allow-pull")

    def check(self, op: bytes | None, asked: Asked) -> tuple[int, str] | None:
        request = SimpleNamespace(
            remoteuser=asked.who.user.encode() or None,
            method=asked.method.encode(),
            urlscheme=asked.scheme.encode(),
        )
        try:
            common.checkauthz(self, request, op)
        except common.ErrorResponse as refusal:
            return refusal.code, str(refusal)
        return None


def told(refusal: Refusal | None, who: Identity) -> tuple[int, str] | None:
    """Stock says 401 to who is logged in, too."""
    if refusal is None:
        return None
    is_known = refusal.status == 403 and not who.is_anonymous and refusal.text != "ssl required"
    return 401 if is_known else refusal.status, refusal.text


def judge(
    *rules: Rule,
    has_logins: bool = True,
    allow_anonymous: bool = False,
    anonymous_read: bool = True,
) -> Judge:
    return Judge(Rules(rules, {}, anonymous_read), allow_anonymous, has_logins)


def web(**values: str) -> HgConfig:
    return HgConfig({}, {("web", name.replace("__", "-")): text for name, text in values.items()})


def asked(user: str = "", method: str = "POST", scheme: str = "https", name: str = "r") -> Asked:
    return Asked((name,), Identity(user), method, scheme)


def test_decides_as_stock_for_every_mix() -> None:
    alone = judge(has_logins=False)
    count = 0
    for mix in product(*SETTINGS.values()):
        values = {
            name: value for name, value in zip(SETTINGS, mix, strict=True) if value is not None
        }
        config = HgConfig({}, {("web", name): value for name, value in values.items()})
        stock = Stock(values)
        for user in USERS:
            get, post = asked(user, "GET", "http"), asked(user, "POST", "http")
            who = get.who
            read = told(alone.why_not_read(config, get), who)
            assert read == stock.check(None, get), (values, user)
            pull = told(alone.why_not_pull(config, get), who)
            assert pull == stock.check(b"pull", get), (values, user)
            for one in (get, post, asked(user)):
                push = told(alone.why_not_push(config, one), who)
                stocks = stock.check(b"push", one)
                if read is None:  # we ask for the right to read first, hgweb for nothing but push
                    assert push == stocks, (values, one)
                count += 1
    assert count == 3 * 3 * 3 * 6 * 2 * 4 * 6 * 3


@pytest.mark.parametrize("name", ["deny-read", "deny-push", "allow-read", "allow_push"])
def test_other_spelling_is_not_passed_over(name: str) -> None:
    config = HgConfig({}, {("web", name): "alice", ("web", "allow-push"): "alice,bob"})
    user = "bob" if name == "allow-read" else "alice"
    assert (judge().why_not_push(config, asked(user)) is None) is (name == "allow_push")


def status(refusal: Refusal | None) -> int | None:
    return None if refusal is None else refusal.status


def test_asks_for_a_login_only_where_it_helps() -> None:
    open_to_alice = judge(Rule(["r"], write=["alice"]))
    assert status(open_to_alice.why_not_push(web(), asked())) == 401
    assert status(open_to_alice.why_not_push(web(), asked("bob"))) == 403
    assert status(open_to_alice.why_not_push(web(), asked("alice"))) is None
    assert status(judge().why_not_push(web(), asked())) == 403  # nobody may
    assert status(judge().why_not_push(web(allow__push="bob"), asked())) == 401
    assert status(judge().why_not_push(web(deny_push="*"), asked())) == 403
    assert status(judge().why_not_pull(web(allow__pull="no"), asked())) == 403
    assert status(judge().why_not_read(web(allow_read="bob"), asked())) == 401
    assert status(judge().why_not_read(web(deny_read="bob"), asked())) == 401
    assert status(judge().why_not_read(web(deny_read="*"), asked())) == 403


def test_without_logins_it_stays_as_stock_has_it() -> None:
    assert status(judge(has_logins=False).why_not_push(web(), asked())) == 401


@pytest.mark.parametrize(
    ("rule", "list_", "expected"),
    [
        (["alice"], "", True),
        ([], "alice", False),
        (["alice"], "alice", True),
        (["alice"], "bob", False),
        (["bob"], "alice", False),
        (["*"], "alice", True),
        (["alice"], "*", True),
        (["bob"], "*", False),
        (None, "alice", True),
        (None, "", False),
    ],
)
def test_rule_and_list_must_not_differ(rule: list[str] | None, list_: str, expected: bool) -> None:
    one = judge() if rule is None else judge(Rule(["r"], write=rule))
    assert (one.why_not_push(web(allow__push=list_), asked("alice")) is None) is expected


def test_what_mercurial_denies_no_rule_opens() -> None:
    one = judge(Rule(["r"], read=["anonymous"], write=["*"]))
    assert one.why_not_push(web(deny_push="alice"), asked("alice")) is not None
    assert one.why_not_push(web(deny_push="alice"), asked("bob")) is None
    assert one.why_not_read(web(deny_read="alice"), asked("alice")) is not None
    assert one.why_not_push(web(), asked("alice", scheme="http")) is not None
    assert one.why_not_push(web(push_ssl="no"), asked("alice", scheme="http")) is None
    assert one.why_not_push(web(), asked("alice", method="GET")) is not None


def test_anonymous_reading_by_default_or_not() -> None:
    closed = judge(anonymous_read=False)
    assert judge().why_not_read(web(), asked()) is None
    assert status(closed.why_not_read(web(), asked())) == 401
    assert closed.why_not_read(web(), asked("alice")) is None
    assert closed.why_not_read(web(allow_read="*"), asked()) is None
    assert judge(Rule(["r"], read=[]), anonymous_read=False).why_not_read(
        web(allow_read="*"), asked("alice")
    )


def test_who_may_not_read_may_not_write() -> None:
    one = judge(Rule(["r"], write=["alice"]), allow_anonymous=True)
    assert one.why_not_push(web(), asked("bob")) is None
    assert one.why_not_push(web(deny_read="bob"), asked("bob")) is not None


def test_anonymous_writing_is_none_of_a_tokens_rights() -> None:
    one = judge(allow_anonymous=True)
    reader = Asked(("r",), Identity("ci", Scope(("**",), False)), "POST", "https")
    assert one.why_not_push(web(), asked()) is None
    assert one.why_not_push(web(), reader) is not None


def test_both_names_of_a_repository_must_be_allowed() -> None:
    one = judge(Rule(["private/**"], read=["alice"]), Rule(["**"], write=["*"]))
    linked = Asked(("public/a", "private/a"), Identity("bob"), "POST", "https")
    assert one.why_not_read(web(), linked) is not None
    assert one.why_not_push(web(), linked) is not None


def test_names_are_judged_before_any_disk() -> None:
    one = judge(Rule(["private/**"], read=["alice"]), Rule(["nobody"], read=[]))
    assert status(one.why_not_name(asked(name="private/x"))) == 401
    assert status(one.why_not_name(asked("bob", name="private/x"))) == 403
    assert one.why_not_name(asked("alice", name="private/x")) is None
    assert status(one.why_not_name(asked(name="nobody"))) == 403
    assert one.why_not_name(asked(name="x")) is None
    scoped = Asked(("x",), Identity("ci", Scope(("y",), False)), "GET", "https")
    assert status(one.why_not_name(scoped)) == 403
    assert one.why_not_name(Asked(("x",), ANONYMOUS, "GET", "http")) is None


# -- Subversion, which has no [web]


@pytest.mark.parametrize(
    ("rules", "has_paths", "statuses"),  # of nobody, alice and bob
    [
        ((), False, (403, 403, 403)),
        ((), True, (401, None, None)),
        ((Rule(["r"], write=["alice"]),), False, (401, None, 403)),
        ((Rule(["r"], write=["alice"]),), True, (401, None, 403)),
        ((Rule(["r"], write=["anonymous"]),), True, (None, None, None)),
        ((Rule(["r"], read=["alice"]),), True, (401, 403, 403)),
        ((Rule(["other"], write=["alice"]),), False, (403, 403, 403)),
    ],
)
def test_committing_needs_a_word_of_a_rule_or_else_of_the_file_for_paths(
    rules: tuple[Rule, ...], has_paths: bool, statuses: tuple[int | None, ...]
) -> None:
    found = [
        judge(*rules).why_not_commit(asked(user, scheme="http"), has_paths)
        for user in ("", "alice", "bob")
    ]
    assert tuple(refusal and refusal.status for refusal in found) == statuses


def test_committing_by_a_token_is_within_its_scope() -> None:
    for scope, status in ((Scope(("r",), True), None), (Scope(("r",), False), 403)):
        one = Asked(("r",), Identity("alice", scope), "POST", "http")
        for allow_anonymous in (False, True):
            found = judge(allow_anonymous=allow_anonymous).why_not_commit(one, has_paths=True)
            assert (found and found.status) == status
    elsewhere = Asked(("r",), Identity("alice", Scope(("x",), True)), "POST", "http")
    assert judge().why_not_commit(elsewhere, has_paths=True) is not None
