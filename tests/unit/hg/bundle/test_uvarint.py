from __future__ import annotations

import pytest
from mercurial import util

from trunkline.hg.bundle.uvarint import format_uvarint


@pytest.mark.parametrize("bits", range(64))
def test_format_uvarint_is_mercurials_around_each_power_of_two(bits: int) -> None:
    for number in (2**bits - 1, 2**bits, 2**bits + 1):
        assert format_uvarint(number) == util.uvarintencode(number)
