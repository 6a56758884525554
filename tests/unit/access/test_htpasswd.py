from __future__ import annotations

import pytest

from trunkline.access.htpasswd import NO_PASSWORDS, parse_passwords
from trunkline.errors import SettingsError

# "one" and "two"
ONE = "{SHA}/gW83NxJKAEngaXxoqd8u1OY4QY="
TWO = "{SHA}rXguzax3D8brmmLkT5CHP7l/sms="


def test_users_and_their_passwords() -> None:
    file = parse_passwords(f"# ours\nalice:{ONE}\n\n  bob smith:{TWO}:extra \r\n".encode())
    assert sorted(file.entries) == ["alice", "bob smith"]
    assert file.verify("alice", b"one")
    assert file.verify("bob smith", b"two")
    assert not file.verify("alice", b"two")
    assert not file.verify("Alice", b"one")


def test_nobody_is_somebody_else() -> None:
    """Who isn't there is refused with the password of the one whose hash is tried in his place."""
    file = parse_passwords(f"alice:{ONE}\n".encode())
    assert not file.verify("mallory", b"one")
    assert not NO_PASSWORDS.verify("alice", b"")
    assert file.hash_of("mallory") == ""


def test_first_line_of_a_user_counts_as_in_apache() -> None:
    file = parse_passwords(f"alice:{ONE}\nalice:{TWO}\n".encode())
    assert file.verify("alice", b"one")
    assert not file.verify("alice", b"two")


def test_decoy_takes_as_long_as_the_best_hash() -> None:
    costly = "$2y$05$7zFAQUgrNkismcbpA20dd.SgSZ8f0mfbTGU7M1s/wRUzoBHt0dg4a"
    file = parse_passwords(f"alice:{ONE}\nbob:{costly}\ncarol:{TWO}\n".encode())
    assert file.decoy is not None
    assert file.decoy.text == costly


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("secret", "no name"),
        ("alice:", "isn't hashed"),
        ("alice:secret", "isn't hashed"),
        (f":{ONE}", "no name"),
        (f"*:{ONE}", "no name"),
        (f"anonymous:{ONE}", "no name"),
        (f"@dev:{ONE}", "no name"),
        (f"al\x1bice:{ONE}", "no name"),
    ],
)
def test_broken_line_is_named_without_what_stands_in_it(line: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_passwords(f"bob:{ONE}\n{line}\n".encode())
    assert caught.value.text.startswith("line 2: ")
    assert words in caught.value.text
    assert "secret" not in caught.value.text
