"""A private authority and what it certifies, as files for a server."""

from __future__ import annotations

from pathlib import Path

import trustme

from trunkline.config.auth import Tls


class Authority:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._ca = trustme.CA()
        self.path = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(self.path)

    def issue(self, name: str = "server", *identities: str) -> Tls:
        """Certificate and key, in PKCS#8, of a server at `identities`; over the old ones."""
        found = self._ca.issue_cert(*(identities or ("127.0.0.1", "localhost")))
        return self._write(name, found)

    def issue_client(self, name: str, common_name: str) -> Tls:
        found = self._ca.issue_cert(f"{common_name}@example.org", common_name=common_name)
        return self._write(name, found)

    def _write(self, name: str, found: trustme.LeafCert) -> Tls:
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(b"".join(blob.bytes() for blob in found.cert_chain_pems))
        key.write_bytes(pkcs8(found.private_key_pem.bytes()))
        return Tls(certificate=str(certificate), key=str(key))


def pkcs8(key: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization

    loaded = serialization.load_pem_private_key(key, None)
    return loaded.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
