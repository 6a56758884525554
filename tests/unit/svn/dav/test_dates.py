from __future__ import annotations

from trunkline.svn.dav.dates import format_http, format_iso, parse_iso


def test_iso_there_and_back() -> None:
    for moment in (0, 1, 999_999, 1_700_000_000_123_456):
        assert parse_iso(format_iso(moment)) == moment
    assert parse_iso(b"2000-01-01T12:00:00.0Z") == 946_728_000_000_000
    assert format_http(946_728_000_000_000) == b"Sat, 01 Jan 2000 12:00:00 GMT"


def test_other_forms_are_none() -> None:
    for text in (b"", b"now", b"2000-13-01T12:00:00.0Z", b"2000-01-01", b"0000-01-01T00:00:00Z"):
        assert parse_iso(text) is None
