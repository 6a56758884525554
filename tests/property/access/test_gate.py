"""Whatever a client or a proxy shows, the gate knows who it is, or blames the peer."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.access.gate import Gate, Shown
from trunkline.access.identity import Identity
from trunkline.access.tokens import PREFIX
from trunkline.config.auth import Auth, is_user_name
from trunkline.errors import PeerError

VALUES = (
    st.binary(max_size=60)
    | st.binary(max_size=60).map(lambda data: b"Basic " + b64encode(data))
    | st.binary(max_size=60).map(lambda data: b"Basic " + b64encode(b"a:" + PREFIX.encode() + data))
    | st.text("abc_=", max_size=60).map(lambda text: f"Bearer {PREFIX}{text}".encode())
)
NAMES = st.sampled_from([b"authorization", b"x-user", b"x-subject"])


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "htpasswd").write_text("alice:{SHA}" + "a" * 27 + "=\n")
    (folder / "tokens").write_text("")
    return Gate(
        Auth(
            password_file=str(folder / "htpasswd"),
            token_file=str(folder / "tokens"),
            user_header="X-User",
            certificate_header="X-Subject",
        )
    )


@given(headers=st.dictionaries(NAMES, VALUES), is_proxied=st.booleans())
def test_only_the_peer_is_ever_at_fault(
    gate: Gate, headers: dict[bytes, bytes], is_proxied: bool
) -> None:
    shown = Shown(headers, "a", is_proxied)
    found: Identity | None = None
    with suppress(PeerError):
        found = gate.known(shown) or gate.login(shown)
    if found is not None and not found.is_anonymous:
        assert is_proxied
        assert is_user_name(found.user)
