from __future__ import annotations

import pytest

from trunkline.access.subject import SUBJECT_LIMIT, user_of_subject
from trunkline.errors import PeerError


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        ("CN=alice", "alice"),
        ("CN=alice,O=Example,C=DE", "alice"),
        ("emailAddress=a@b.example, cn = Alice Smith ,O=Example", "Alice Smith"),
        (r"CN=Smith\, Alice,O=x", "Smith, Alice"),
        (r'CN="Smith, Alice",O=x', "Smith, Alice"),
        (r"CN=J\C3\BCrgen", "Jürgen"),
        ("CN=Jürgen", "Jürgen"),
        (r"CN=\ a\ ", " a "),
        ("O=x+CN=alice", "alice"),
        (r"O=a\,CN=admin,CN=alice", "alice"),
        (r"O=a\+CN=admin,CN=alice", "alice"),
        ('O="a,CN=admin",CN=alice', "alice"),
        ("2.5.4.10=x,CN=alice", "alice"),
    ],
)
def test_finds_the_user(subject: str, user: str) -> None:
    assert user_of_subject(subject, "CN") == user


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "O=Example",
        "CN=alice,CN=admin",
        "O=x+CN=admin,CN=alice",
        "/O=Example/CN=alice",
        "/CN=alice",
        "CN=#0c0561646d696e",
        "CN=alice\\",
        'CN="alice',
        r"CN=\FF",
        "CN",
        "alice",
        "O=x,,CN=alice",
        "CN=" + "a" * SUBJECT_LIMIT,
    ],
)
def test_refuses_what_is_not_one_name(subject: str) -> None:
    with pytest.raises(PeerError):
        user_of_subject(subject, "CN")


def test_other_field() -> None:
    assert user_of_subject("CN=Alice Smith,UID=asmith", "uid") == "asmith"
