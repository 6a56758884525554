"""Any two texts: a delta between them makes the one of the other."""

from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

from trunkline.hg.store.delta import apply_patches, make_delta

TEXT = st.lists(st.sampled_from([b"a\n", b"b\n", b"", b"\0", b"long line\n" * 3])).map(b"".join)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_deltas_lead_from_first_to_last(texts: list[bytes]) -> None:
    deltas = [make_delta(old, new) for old, new in pairwise(texts)]
    assert apply_patches(texts[0], deltas) == texts[-1]
