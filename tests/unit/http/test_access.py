"""Against hgweb's own checkauthz, for an anonymous user and every mix of the settings."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import pytest
from mercurial import ui as uimod
from mercurial.hgweb import common

from trunkline.config.hgconfig import HgConfig
from trunkline.http.access import Refusal, why_not_pull, why_not_push, why_not_read

LISTS = (None, "", "*", "alice", "*, alice")
SETTINGS = {
    "deny_read": LISTS,
    "allow_read": LISTS,
    "allow-pull": (None, "yes", "no"),
    "deny_push": (None, "*", "alice"),
    "allow-push": LISTS,
    "push_ssl": (None, "no", "yes"),
}


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

    def check(self, op: bytes | None, method: bytes, scheme: bytes) -> tuple[int, str] | None:
        request = SimpleNamespace(remoteuser=None, method=method, urlscheme=scheme)
        try:
            common.checkauthz(self, request, op)
        except common.ErrorResponse as refusal:
            return refusal.code, str(refusal)
        return None


def told(refusal: Refusal | None) -> tuple[int, str] | None:
    return None if refusal is None else (refusal.status, refusal.text)


def test_decides_as_stock_for_every_mix() -> None:
    count = 0
    for mix in product(*SETTINGS.values()):
        values = {
            name: value for name, value in zip(SETTINGS, mix, strict=True) if value is not None
        }
        config = HgConfig({}, {("web", name): value for name, value in values.items()})
        stock = Stock(values)
        assert told(why_not_read(config)) == stock.check(None, b"GET", b"http"), values
        assert told(why_not_pull(config)) == stock.check(b"pull", b"GET", b"http"), values
        for method, scheme in product(("GET", "POST"), ("http", "https")):
            ours = told(why_not_push(config, method, scheme, allow_anonymous=False))
            assert ours == stock.check(b"push", method.encode(), scheme.encode()), values
        count += 1
    assert count == 5 * 5 * 3 * 3 * 5 * 3


def test_nobody_pushes_by_default() -> None:
    assert told(why_not_push(HgConfig(), "POST", "https", False)) == (401, "push not authorized")


@pytest.mark.parametrize("name", ["deny_read", "deny-read"])
def test_denying_counts_in_either_spelling(name: str) -> None:
    config = HgConfig({}, {("web", name): "*"})
    assert told(why_not_read(config)) == (401, "read not authorized")


def test_everyone_pushes_when_the_operator_says_so() -> None:
    denying = HgConfig({}, {("web", "deny_push"): "*"})
    assert why_not_push(denying, "POST", "http", allow_anonymous=True) is None
    assert told(why_not_push(denying, "GET", "http", True)) == (405, "push requires POST request")


def test_who_may_not_read_may_not_push_either() -> None:
    config = HgConfig({}, {("web", "deny_read"): "*"})
    assert told(why_not_push(config, "POST", "http", True)) == (401, "read not authorized")
