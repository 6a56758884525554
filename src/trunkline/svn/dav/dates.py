"""Dates on the wire. Subversion's are ISO 8601 with microseconds, HTTP's RFC 1123."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ISO = re.compile(rb"^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z$")


def format_iso(microseconds: int) -> bytes:
    moment = EPOCH + timedelta(microseconds=microseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.").encode() + b"%06dZ" % moment.microsecond


def parse_iso(text: bytes) -> int | None:
    """Microseconds since 1970; None for another form."""
    match = ISO.match(text)
    if match is None:
        return None
    try:
        moment = datetime(*(int(part) for part in match.groups()[:6]), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    fraction = int((match[7] or b"0").ljust(6, b"0"))
    return (moment - EPOCH) // timedelta(microseconds=1) + fraction


def format_http(microseconds: int) -> bytes:
    moment = EPOCH + timedelta(microseconds=microseconds)
    return format_datetime(moment.replace(microsecond=0), usegmt=True).encode()
