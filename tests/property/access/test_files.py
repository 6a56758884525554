"""Files that an operator broke: only the operator is told, in one way."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from trunkline.access.hashes import KINDS, find_kind, verify
from trunkline.access.htpasswd import parse_passwords
from trunkline.access.subject import parse_subject, user_of_subject
from trunkline.access.tokens import format_tokens, make_token, parse_tokens
from trunkline.errors import PeerError, SettingsError

HASHES = st.one_of([st.from_regex(kind.form, fullmatch=True) for kind in KINDS])
LINES = st.builds(lambda user, text: f"{user}:{text}".encode(), st.text(max_size=8), HASHES)


@given(st.binary(max_size=100) | st.lists(LINES, max_size=4).map(b"\n".join))
def test_password_file(data: bytes) -> None:
    with suppress(SettingsError):
        parse_passwords(data)


@given(HASHES.filter(lambda text: not text.startswith(("$2", "$5", "$6"))), st.binary(max_size=80))
def test_a_hash_of_the_right_form_never_fails(text: str, password: bytes) -> None:
    kind = find_kind(text)
    if kind is not None:
        assert not verify(kind, password.replace(b"\0", b"") + b"?", text) or len(password) < 8


@given(st.binary(max_size=100) | st.just(format_tokens(parse_tokens(b""))))
def test_token_file(data: bytes) -> None:
    with suppress(SettingsError):
        parse_tokens(data)


@given(st.data())
def test_token_file_with_a_byte_changed(data: st.DataObject) -> None:
    good = TOKENS
    at = data.draw(st.integers(0, len(good) - 1))
    with suppress(SettingsError):
        parse_tokens(good[:at] + data.draw(st.binary(max_size=2)) + good[at + 1 :])


@given(st.text(max_size=60) | st.text('CN=al,\\"+;# /O', max_size=30))
def test_subject(text: str) -> None:
    with suppress(PeerError):
        user_of_subject(text, "CN")


@given(st.text(max_size=30).filter(lambda text: text.isprintable()))
def test_subject_gives_back_what_was_escaped(value: str) -> None:
    escaped = "".join(f"\\{char}" if char in ',+"\\<>;=# ' else char for char in value)
    assert parse_subject(f"O=x,CN={escaped},C=y") == [("O", "x"), ("CN", value), ("C", "y")]


TOKENS = format_tokens(
    type(parse_tokens(b""))({"a": make_token("alice", ("**",), True, None).token})
)
