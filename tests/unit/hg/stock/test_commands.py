from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.hg.stock.commands import Command, format_request, parse_command


def test_frames_arguments_by_length() -> None:
    assert format_request(b"heads", (), {}) == b"heads\n"
    assert format_request(b"lookup", (b"key",), {b"key": b"a\nb \xff"}) == (
        b"lookup\nkey 5\na\nb \xff"
    )
    assert format_request(b"known", (b"nodes", b"*"), {b"nodes": b"", b"later": b"x"}) == (
        b"known\nnodes 0\n* 1\nlater 1\nx"
    )
    assert format_request(b"getbundle", (b"*",), {}) == b"getbundle\n* 0\n"


def test_parses_what_mercurial_says_of_its_commands() -> None:
    assert parse_command(b"heads pull\n") == (b"heads", Command(b"pull", ()))
    assert parse_command(b"known pull nodes *\n") == (
        b"known",
        Command(b"pull", (b"nodes", b"*")),
    )


@pytest.mark.parametrize(
    ("spec", "arguments"),
    [
        ((b"key",), {}),
        ((b"*",), {b"a 0\nheads\n": b""}),
        ((b"*",), {b"a\n": b""}),
        ((b"*",), {b"": b""}),
    ],
)
def test_refuses_what_would_break_the_frame(
    spec: tuple[bytes, ...], arguments: dict[bytes, bytes]
) -> None:
    with pytest.raises(PeerError):
        format_request(b"x", spec, arguments)
