from __future__ import annotations

import logging
import time
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from msgspec.structs import replace
from tests.unit.access.clock import Clock

from trunkline.access.gate import Gate, LoginFailed, Shown
from trunkline.access.guesses import TooManyFailures
from trunkline.access.identity import ANONYMOUS, Identity, Scope
from trunkline.access.token_file import change_tokens, last_use
from trunkline.access.tokens import Made, Tokens, make_token
from trunkline.config.auth import Auth
from trunkline.errors import PeerError, SettingsError

COST = 4


def line(user: str, password: bytes, cost: int = COST) -> str:
    return f"{user}:{bcrypt.hashpw(password, bcrypt.gensalt(cost)).decode()}\n"


class Files:
    """A password and a token file, and a gate that knows them."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.passwords = folder / "htpasswd"
        self.tokens = folder / "tokens.json"
        self.passwords.write_text(line("alice", b"secret") + line("bob", b"other"))
        self.tokens.write_text("")

    def gate(self, **changes: Any) -> Gate:
        auth = Auth(password_file=str(self.passwords), token_file=str(self.tokens), **changes)
        return Gate(auth, self.clock)

    def token(self, *repositories: str, **changes: Any) -> Made:
        made = make_token("ci", repositories or ("**",), True, changes.get("expires"))
        change_tokens(
            str(self.tokens), lambda old: Tokens({**old.by_id, made.token.id: made.token})
        )
        return made


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def shown(user: str, password: str | bytes, address: str = "a") -> Shown:
    secret = password.encode() if isinstance(password, str) else password
    value = b"Basic " + b64encode(user.encode() + b":" + secret)
    return Shown({b"authorization": value}, address)


def bearer(text: str, address: str = "a") -> Shown:
    return Shown({b"authorization": b"Bearer " + text.encode()}, address)


def enter(gate: Gate, what: Shown) -> Identity:
    """As the application does it."""
    found = gate.known(what)
    return gate.login(what) if found is None else found


ALICE = Identity("alice", how="password")


def test_who_shows_nothing_is_anonymous(files: Files) -> None:
    assert files.gate().known(Shown({}, "a")) == ANONYMOUS
    assert files.gate().known(Shown({b"authorization": b"Negotiate abc"}, "a")) == ANONYMOUS


def test_right_password_is_hashed_once(files: Files) -> None:
    gate = files.gate()
    assert gate.known(shown("alice", "secret")) is None
    assert gate.login(shown("alice", "secret")) == ALICE
    assert gate.known(shown("alice", "secret")) == ALICE
    files.clock.now += 300
    assert gate.known(shown("alice", "secret")) is None


def test_2000_requests_do_not_cost_2000_hashes(files: Files) -> None:
    files.passwords.write_text(line("alice", b"secret", cost=10))
    gate = files.gate()
    start = time.process_time()
    assert all(enter(gate, shown("alice", "secret")) == ALICE for _ in range(2000))
    assert time.process_time() - start < 1.0  # two hashes a hundred would take so long


def test_wrong_password(files: Files) -> None:
    gate = files.gate()
    for user, password in (
        ("alice", "other"),
        ("mallory", "secret"),
        ("", ""),
        ("Alice", "secret"),
    ):
        with pytest.raises(LoginFailed) as caught:
            enter(gate, shown(user, password))
        assert caught.value.status == 401
        assert caught.value.text == "the login is not valid"


def test_who_is_not_there_takes_as_long_as_who_is(files: Files) -> None:
    files.passwords.write_text(line("alice", b"secret", cost=10))
    gate = files.gate()
    seconds = {}
    for user in ("alice", "mallory"):
        start = time.process_time()
        for number in range(3):
            with pytest.raises(LoginFailed):
                enter(gate, shown(user, f"wrong {number}"))
        seconds[user] = time.process_time() - start
    assert 0.5 < seconds["alice"] / seconds["mallory"] < 2


def test_changed_password_counts_at_once(files: Files) -> None:
    gate = files.gate()
    enter(gate, shown("alice", "secret"))
    files.passwords.write_text(line("alice", b"new") + line("carol", b"first"))
    with pytest.raises(LoginFailed):
        enter(gate, shown("alice", "secret"))
    assert enter(gate, shown("alice", "new")) == ALICE
    assert enter(gate, shown("carol", "first")).user == "carol"
    with pytest.raises(LoginFailed):
        enter(gate, shown("bob", "other"))


def test_password_that_is_made_right_is_not_remembered_as_wrong(files: Files) -> None:
    gate = files.gate()
    with pytest.raises(LoginFailed):
        enter(gate, shown("alice", "new"))
    files.passwords.write_text(line("alice", b"new"))
    assert enter(gate, shown("alice", "new")) == ALICE


def test_broken_file_keeps_everybody_in(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    gate = files.gate()
    files.passwords.write_text("alice\n")
    assert enter(gate, shown("alice", "secret")) == ALICE
    assert enter(gate, shown("bob", "other")).user == "bob"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["password_file", "token_file"])
def test_broken_file_at_the_start_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="none: No such file"):
        Gate(replace(Auth(), **{name: str(tmp_path / "none")}))
    (tmp_path / "bad").write_text("?")
    with pytest.raises(SettingsError, match="bad: "):
        Gate(replace(Auth(), **{name: str(tmp_path / "bad")}))


def test_guesses_end(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    gate = files.gate(failures_per_login=3)
    for number in range(3):
        with pytest.raises(LoginFailed):
            enter(gate, shown("alice", f"guess {number}"))
    for password in ("guess 3", "secret"):  # no word on which is right
        with pytest.raises(TooManyFailures):
            enter(gate, shown("alice", password))
    assert enter(gate, shown("alice", "secret", "elsewhere")) == ALICE
    with pytest.raises(TooManyFailures):  # not even now that it is remembered
        enter(gate, shown("alice", "secret"))
    assert len(caplog.records) == 3


def test_one_wrong_password_again_and_again_locks_nobody_out(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    """A job that was left with an old one, behind the same address as all others."""
    gate = files.gate(failures_per_login=3)
    for _ in range(50):
        with pytest.raises(LoginFailed):
            enter(gate, shown("alice", "old"))
    assert enter(gate, shown("alice", "secret")) == ALICE
    assert len(caplog.records) == 1


def test_failures_are_logged_without_secrets(
    files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    gate = files.gate()
    made = files.token()
    with caplog.at_level(logging.DEBUG):
        for what in (
            shown("alice\n2030 forged", "hunter2", "192.0.2.1"),
            shown("x" * 1000, "hunter2"),
            bearer(made.text + "x"),
            shown("alice", made.text),
        ):
            with pytest.raises(LoginFailed):
                enter(gate, what)
    texts = [record.getMessage() for record in caplog.records]
    assert texts[0] == r"failed login from 192.0.2.1: user 'alice\n2030 forged', wrong password"
    assert len(texts) == 4
    assert all(len(text) < 150 for text in texts)
    assert not any("hunter2" in text or made.text[20:] in text for text in texts)


def test_token_as_bearer_and_as_password(files: Files) -> None:
    gate = files.gate()
    made = files.token("team/**")
    expected = Identity("ci", Scope(("team/**",), True), how="token")
    assert gate.known(bearer(made.text)) == expected
    assert gate.known(shown("ci", made.text)) == expected
    assert last_use(str(files.tokens), made.token.id) is not None
    for wrong in (bearer(made.text[:-1]), shown("alice", made.text), bearer("x")):
        with pytest.raises(LoginFailed):
            gate.known(wrong)


def test_token_ends(files: Files) -> None:
    gate = files.gate()
    over = files.token(expires=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(LoginFailed):
        gate.known(bearer(over.text))
    made = files.token()
    assert gate.known(bearer(made.text)) is not None
    change_tokens(str(files.tokens), lambda _: Tokens())
    with pytest.raises(LoginFailed):
        gate.known(bearer(made.text))


def test_good_token_passes_where_others_fail(files: Files) -> None:
    gate = files.gate(failures_per_address=3)
    made = files.token()
    for number in range(3):
        with pytest.raises(LoginFailed):
            gate.known(bearer(f"guess{number}"))
    with pytest.raises(TooManyFailures):
        gate.known(bearer("guess4"))
    assert gate.known(bearer(made.text)) is not None


def test_user_header_of_a_proxy(files: Files) -> None:
    gate = files.gate(user_header="X-Remote-User")
    headers = {b"x-remote-user": b"carol"}
    assert gate.known(Shown(headers, "a", is_proxied=True)) == Identity("carol", how="proxy")
    assert gate.known(Shown(headers, "a")) == ANONYMOUS
    both = {**headers, **shown("alice", "secret").headers}
    assert gate.known(Shown(both, "a", is_proxied=True)) == Identity("carol", how="proxy")
    for empty in (b"", b" ", b"-", b"(null)"):
        assert gate.known(Shown({b"x-remote-user": empty}, "a", is_proxied=True)) == ANONYMOUS


@pytest.mark.parametrize("name", [b"*", b"@dev", b"anonymous", b"a:b", b"a\x01", b"x" * 300])
def test_user_header_with_who_can_be_nobody(files: Files, name: bytes) -> None:
    gate = files.gate(user_header="X-Remote-User")
    with pytest.raises(PeerError) as caught:
        gate.known(Shown({b"x-remote-user": name}, "a", is_proxied=True))
    assert caught.value.status == 403


def test_certificate_header_of_a_proxy(files: Files) -> None:
    gate = files.gate(certificate_header="X-Client-Subject")
    headers = {b"x-client-subject": b"CN=carol,O=Example"}
    known = gate.known(Shown(headers, "a", is_proxied=True))
    assert known == Identity("carol", how="certificate")
    assert gate.known(Shown(headers, "a")) == ANONYMOUS
    with pytest.raises(PeerError):
        gate.known(Shown({b"x-client-subject": b"O=Example"}, "a", is_proxied=True))


def test_without_files_what_a_client_sends_means_nothing() -> None:
    gate = Gate(Auth())
    assert gate.known(shown("alice", "secret")) == ANONYMOUS
    assert gate.known(Shown({b"authorization": b"Basic ???"}, "a")) == ANONYMOUS


def test_name_of_no_header_is_not_believed() -> None:
    assert Gate(Auth()).known(Shown({b"": b"admin"}, "a", is_proxied=True)) == ANONYMOUS
