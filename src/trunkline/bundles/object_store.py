"""An S3-compatible object store: bundles go there, and clients get its URLs."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

import msgspec

from trunkline.config.bundles import BundleStore
from trunkline.errors import SettingsError
from trunkline.hg.wire.shelf import Bundle

log = logging.getLogger(__name__)

SEEN_SECONDS: Final = 10.0  # that an object was there, or not, is believed
SEEN_LIMIT: Final = 10_000  # objects
BLOCK: Final = 1024 * 1024  # bytes
PART: Final = 16 * 1024 * 1024  # bytes of an upload at once; S3 takes 10,000 of them
NAME: Final = "{name}.hg"


class ObjectStore:
    """Thread-safe. `seconds` bounds a question, not an upload."""

    def __init__(self, settings: BundleStore) -> None:
        """Raises: SettingsError where the library isn't installed, or refuses the settings."""
        self._settings = settings
        self._down_until = 0.0
        self._seen: dict[str, tuple[float, int | None]] = {}
        try:
            import obstore
            from obstore.exceptions import NotFoundError, PermissionDeniedError
            from obstore.store import S3Store
        except ImportError:
            raise SettingsError(
                "bundle_store: needs the library obstore (pip install trunkline[s3])"
            ) from None
        self._library: Any = obstore
        # Amazon's says "forbidden" of what isn't there to those who may list nothing.
        self._not_there: tuple[type[Exception], ...] = (
            FileNotFoundError,
            NotFoundError,
            PermissionDeniedError,
        )
        bucket, _, prefix = settings.url.removeprefix("s3://").partition("/")
        prefix = prefix.strip("/")
        self._prefix = prefix + "/" if prefix else ""
        options: dict[str, Any] = {"region": settings.region}
        if settings.endpoint:
            options["endpoint"] = settings.endpoint
        client: Any = {"allow_http": settings.endpoint.startswith("http:")}
        wait = timedelta(seconds=settings.seconds)
        try:
            self._slow = S3Store(bucket, **options, client_options={**client, "timeout": "1h"})
            self._quick = S3Store(
                bucket,
                **options,
                client_options={**client, "timeout": f"{settings.seconds}s"},
                retry_config={"max_retries": 1, "retry_timeout": wait},
            )
        except Exception as error:
            raise SettingsError(f"bundle_store: {first_line(error)}") from None

    def put(self, bundle: Bundle, path: str) -> Bundle:
        """With its key; without one when the store doesn't take it, which the log then tells."""
        key = self._prefix + NAME.format(name=bundle.name)
        size = self._size(key)
        if self._is_down:  # the log knows
            return bundle
        try:
            sha256 = file_digest(path)
            if size != bundle.size:
                with open(path, "rb") as file:
                    self._library.put(self._slow, key, file, chunk_size=PART, mode="overwrite")
        except Exception as error:  # the library has many kinds, and none may stop the list
            log.warning("bundle_store: %s: %s", key, first_line(error))
            return bundle
        self._seen.pop(key, None)
        return msgspec.structs.replace(bundle, key=key, sha256=sha256)

    def address(self, bundle: Bundle) -> str | None:
        """None: it isn't there now, or the store doesn't answer."""
        now = time.monotonic()
        seen = self._seen.get(bundle.key)
        if seen is None or now - seen[0] > SEEN_SECONDS:
            if len(self._seen) > SEEN_LIMIT:
                self._seen = {}
            seen = self._seen[bundle.key] = now, self._size(bundle.key)
        if seen[1] != bundle.size:
            return None
        settings = self._settings
        if settings.public_url:
            name = bundle.key.removeprefix(self._prefix)
            return f"{settings.public_url.rstrip('/')}/{quote(name)}"
        with suppress(Exception):
            lifetime = timedelta(seconds=settings.signed_seconds)
            signed: str = self._library.sign(self._quick, "GET", bundle.key, lifetime)
            return signed
        return None

    @property
    def _is_down(self) -> bool:
        return time.monotonic() < self._down_until

    def _size(self, key: str) -> int | None:
        """None: it isn't there, or can't be asked for."""
        if self._is_down:
            return None
        try:
            return int(self._library.head(self._quick, key)["size"])
        except self._not_there:
            return None
        except Exception as error:  # nobody shall wait for each object of a store that is down
            self._down_until = time.monotonic() + SEEN_SECONDS
            log.warning("bundle_store: %s", first_line(error))
            return None

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            with suppress(Exception):
                self._library.delete(self._slow, key)


def open_store(settings: BundleStore) -> ObjectStore | None:
    """Raises: SettingsError."""
    return ObjectStore(settings) if settings.url else None


def file_digest(path: str) -> str:
    """Raises: OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
