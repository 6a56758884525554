from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.access.current import Current
from trunkline.access.identity import Identity
from trunkline.access.rules import Verdict
from trunkline.config.settings import Settings, read_settings
from trunkline.errors import SettingsError

RULE = '[[access]]\nwrite = ["{}"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(RULE.format("alice"))
    return path


def may_write(current: Current, user: str) -> bool:
    return current.get().judge.rules.writing("r", Identity(user)) is Verdict.ALLOWED


def test_without_a_file_what_was_given_stays() -> None:
    current = Current(Settings(allow_write="anonymous"))
    assert current.get() is current.get()
    assert current.get().judge.allow_anonymous


def test_changed_rules_count_at_once(file: Path) -> None:
    current = Current(read_settings(str(file)), str(file))
    assert (may_write(current, "alice"), may_write(current, "bob")) == (True, False)
    before = current.get()
    file.write_text(RULE.format("bob"))
    assert (may_write(current, "alice"), may_write(current, "bob")) == (False, True)
    assert current.get().gate is before.gate  # who has logged in needs not do it again


def test_broken_file_leaves_the_rules_in_force(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    current = Current(read_settings(str(file)), str(file))
    for broken in ("[[access]]\nwrite = 'bob'\n", "[[access\n", '[auth]\npassword_file="none"\n'):
        file.write_text(broken)
        assert (may_write(current, "alice"), may_write(current, "bob")) == (True, False)
    assert len(caplog.records) == 3
    assert all(str(file.parent) in record.getMessage() for record in caplog.records)


def test_changed_auth_makes_a_new_gate(file: Path) -> None:
    current = Current(read_settings(str(file)), str(file))
    before = current.get()
    assert not before.judge.has_logins
    (file.parent / "htpasswd").write_text("")
    file.write_text('[auth]\npassword_file = "htpasswd"\n')
    assert current.get().gate is not before.gate
    assert current.get().judge.has_logins
    assert current.get().auth.password_file == str(file.parent / "htpasswd")


def test_broken_at_the_start_is_refused(file: Path) -> None:
    file.write_text('[auth]\npassword_file = "none"\n')
    with pytest.raises(SettingsError, match="none: No such file"):
        Current(read_settings(str(file)), str(file))


def test_option_of_the_command_line_outlives_a_change(file: Path) -> None:
    current = Current(Settings(allow_write="anonymous"), str(file))
    file.write_text(RULE.format("bob"))
    assert current.get().judge.allow_anonymous
