"""TLS by the HTTP library: the files checked before it sees them, and looked at for renewal.

Each worker reads the files at its start; so renewed ones are taken up by new workers.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trunkline.config.auth import Tls
from trunkline.errors import SettingsError

log = logging.getLogger(__name__)

OTHER_KEYS = ("RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY")


def check_tls(tls: Tls) -> None:
    """That the files are there, belong together, and are in the form that the HTTP library reads.

    Raises: SettingsError.
    """
    if not tls.certificate:
        return
    key = read(tls.key)
    for kind in OTHER_KEYS:
        if f"-----BEGIN {kind}-----" in key:
            raise SettingsError(
                f"{tls.key}: a key of another form ({kind}): "
                f"make PKCS#8 of it with openssl pkcs8 -topk8 -nocrypt"
            )
    read(tls.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=no_password)
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(f"{tls.certificate} and {tls.key}: {words(error)}") from None
    if tls.client_ca:
        read(tls.client_ca)
        try:
            context.load_verify_locations(tls.client_ca)
        except ssl.SSLError as error:
            raise SettingsError(f"{tls.client_ca}: {words(error)}") from None


def read(path: str) -> str:
    """Raises: SettingsError."""
    try:
        return Path(path).read_text("latin-1")
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from None


def no_password() -> str:
    """Else OpenSSL would ask for one at the terminal."""
    raise ValueError("the key has a password")


def words(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason or error).lower().replace("_", " ")


def server_options(tls: Tls) -> dict[str, Any]:
    """For Granian."""
    if not tls.certificate:
        return {}
    from granian.constants import SSLProtocols  # slow to import

    versions = {"1.2": SSLProtocols.tls12, "1.3": SSLProtocols.tls13}
    return {
        "ssl_cert": Path(tls.certificate),
        "ssl_key": Path(tls.key),
        "ssl_protocol_min": versions[tls.minimum],
        "ssl_ca": Path(tls.client_ca) if tls.client_ca else None,
        "ssl_client_verify": bool(tls.client_ca),
    }


class Renewal:
    """Looks at the files now and then, and calls `renew` when they are other ones and good.

    Broken ones, of a renewal that is half done, are logged once; the workers go on with what they
    have read.
    """

    def __init__(self, tls: Tls, renew: Callable[[], object]) -> None:
        self._tls = tls
        self._renew = renew
        self._seen = self._digests()
        self._told = ""

    def start(self) -> None:
        if self._tls.certificate:
            threading.Thread(target=self._run, name="tls", daemon=True).start()

    def is_sound(self) -> bool:
        """Whether new workers could start with the files. False is logged, once for each reason."""
        try:
            check_tls(self._tls)
        except SettingsError as error:
            if error.text != self._told:
                log.error("%s; the certificate before stays in use", error.text)
            self._told = error.text
            return False
        self._told = ""
        return True

    def look(self) -> None:
        now = self._digests()
        if now != self._seen and self.is_sound():
            self._seen = now
            self._renew()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(self._tls.check_seconds):
            self.look()

    def _digests(self) -> list[bytes]:
        tls = self._tls
        return [digest(path) for path in (tls.certificate, tls.key, tls.client_ca) if path]


def digest(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""
