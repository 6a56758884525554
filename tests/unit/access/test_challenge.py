from __future__ import annotations

import re

import pytest

from trunkline.access.challenge import challenges

# Of Python 2.7.18's urllib2, which Mercurial ran on before 6.0.
PYTHON_2 = re.compile(r"(?:.*,)*[ \t]*([^ \t]+)[ \t]+realm=([\"']?)([^\"']*)\2", re.IGNORECASE)
HG = b"mercurial/proto-1.0 (Mercurial 5.9)"


def test_basic_comes_first_for_clients_that_look_no_further() -> None:
    values = [value for _, value in challenges("Trunkline", b"curl/8")]
    assert values == [
        b'Basic realm="Trunkline", charset="UTF-8"',
        b'Bearer realm="Trunkline"',
    ]


@pytest.mark.parametrize("agent", [HG, b"git-lfs/2.3.4 (Mercurial 6.1)"])
def test_mercurial_on_python_2_finds_basic_in_joined_headers(agent: bytes) -> None:
    joined = ", ".join(value.decode() for _, value in challenges("Our code", agent))
    found = PYTHON_2.search(joined)
    assert found is not None
    assert (found.group(1), found.group(3)) == ("Basic", "Our code")


def test_realm_is_quoted() -> None:
    assert challenges('a"b\\c', HG) == [
        (b"www-authenticate", b'Basic realm="a\\"b\\\\c", charset="UTF-8"')
    ]
