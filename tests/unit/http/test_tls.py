"""The files of TLS, before the HTTP library has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from msgspec.structs import replace
from tests.unit.http.certificates import Authority

from trunkline.config.auth import Tls
from trunkline.errors import SettingsError
from trunkline.http.tls import Renewal, check_tls, server_options


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ca")


def test_nothing_set_is_no_tls() -> None:
    check_tls(Tls())
    assert server_options(Tls()) == {}


def test_good_files(authority: Authority) -> None:
    tls = replace(authority.issue(), client_ca=str(authority.path))
    check_tls(tls)
    assert server_options(tls)["ssl_client_verify"] is True
    assert str(server_options(tls)["ssl_protocol_min"]) == "tls1.2"


def in_form(key: bytes, form: serialization.PrivateFormat, password: bytes = b"") -> bytes:
    loaded = serialization.load_pem_private_key(key, None)
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password)
    return loaded.private_bytes(serialization.Encoding.PEM, form, encryption)


def test_what_is_wrong_is_told_in_words(authority: Authority, tmp_path: Path) -> None:
    tls = authority.issue()
    key = Path(tls.key).read_bytes()
    other, old, locked = (str(tmp_path / name) for name in ("other", "old", "locked"))
    Path(other).write_bytes(Path(authority.issue("other").key).read_bytes())
    Path(old).write_bytes(in_form(key, serialization.PrivateFormat.TraditionalOpenSSL))
    Path(locked).write_bytes(in_form(key, serialization.PrivateFormat.PKCS8, b"secret"))
    for broken, words in (
        (replace(tls, key=other), "mismatch"),
        (replace(tls, key=old), "pkcs8 -topk8"),
        (replace(tls, key=locked), "ENCRYPTED PRIVATE KEY"),
        (replace(tls, key=tls.certificate), "pem lib|no start line"),
        (replace(tls, certificate=tls.key), "pem lib|no start line"),
        (replace(tls, certificate=str(tmp_path / "none")), "none: No such file"),
        (replace(tls, key=str(tmp_path / "none")), "none: No such file"),
        (replace(tls, client_ca=tls.key), "no certificate|pem lib|no start line"),
        (replace(tls, client_ca=str(tmp_path / "none")), "none: No such file"),
    ):
        with pytest.raises(SettingsError, match=words):
            check_tls(broken)


def test_renewal_is_seen_once_and_never_half(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    tls = authority.issue()
    renewed: list[int] = []
    renewal = Renewal(tls, lambda: renewed.append(1))
    renewal.look()
    assert renewed == []
    key = Path(tls.key).read_bytes()
    authority.issue()
    new = Path(tls.key).read_bytes()
    Path(tls.key).write_bytes(key)  # the certificate is there already, its key isn't
    for _ in range(3):
        renewal.look()
    assert renewed == []
    assert len(caplog.records) == 1
    Path(tls.key).write_bytes(new)
    for _ in range(3):
        renewal.look()
    assert renewed == [1]
    Path(tls.key).unlink()
    renewal.look()
    assert renewed == [1]
    assert not renewal.is_sound()
