from __future__ import annotations

import pytest

from trunkline.config.mistakes import doubtful_sections
from trunkline.config.settings import parse_settings
from trunkline.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"allow_write = 'all'\n", "allow_write: 'all' is none of 'authenticated', 'anonymous'"),
        (b"[log]\nformat = 'xml'\n", "log.format: 'xml' is none of 'text', 'json'"),
        (b"[server]\nsocket_mode = '660'\n", "got `str`, in octal, such as 0o660"),
        (b"[server]\nsocket_mode = 660\n", "in octal, such as 0o660"),
        (b"[server]\nwrokers = 1\n", "server.wrokers: no such field; did you mean server.workers?"),
        (b"[sever]\nworkers = 1\n", "sever: no such field; did you mean server?"),
        (b"listen = ''\n", "listen: no such field; listen stands in [server]"),
        (b"[log]\nx = 1\n", "log.x: no such field; there are log.access, log.format"),
        (b"paths = ['a', 1]\n", "paths[1]: Expected `str`, got `int`"),
    ],
)
def test_a_mistake_is_told_with_what_to_write(text: bytes, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(text)
    assert words in caught.value.text


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("wbe.allow-pull=no", "web.allow-pull"),
        ("sever.view=served", "server.view"),
        ("trunkine.native=no", "trunkline.native"),
    ],
)
def test_a_section_that_is_nearly_ours_is_doubted(override: str, meant: str) -> None:
    (line,) = doubtful_sections([override])
    assert line.endswith(f"did you mean {meant}?")


def test_other_sections_are_not_doubted() -> None:
    sections = "web server trunkline ui hooks phases extensions experimental format storage censor"
    sections += " clone devel email pull push serve"
    assert doubtful_sections([f"{section}.x=1" for section in sections.split()]) == []
