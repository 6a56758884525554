"""How a field of the settings says what it is: docs/configuration.md is made from this."""

from __future__ import annotations

from msgspec import Meta

KiB = 1024  # bytes
MiB = 1024 * KiB
GiB = 1024 * MiB


def unit(name: str, text: str, ge: int = 0, le: int | None = None) -> Meta:
    return Meta(ge=ge, le=le, description=text, extra={"unit": name})


def words(text: str) -> Meta:
    return Meta(description=text, extra={"unit": ""})
