from __future__ import annotations

import pytest

from trunkline.errors import StoreError
from trunkline.hg.store.delta import apply_patches, format_full, format_replace, make_delta

OLD = b"one\ntwo\nthree\nfour\n"
NEW = b"one\n2\nthree\nfour\nfive\n"


def test_apply_takes_each_delta_in_turn() -> None:
    assert apply_patches(OLD, [make_delta(OLD, NEW), make_delta(NEW, b"x")]) == b"x"
    assert apply_patches(OLD, []) == OLD


def test_delta_between_equal_texts_is_empty() -> None:
    assert make_delta(OLD, OLD) == make_delta(b"", b"") == b""
    assert apply_patches(OLD, [b""]) == OLD


def test_full_and_replace_are_deltas() -> None:
    assert (
        apply_patches(b"", [format_full(NEW)]) == NEW == apply_patches(b"", [make_delta(b"", NEW)])
    )
    assert apply_patches(OLD, [format_replace(len(OLD), NEW)]) == NEW


@pytest.mark.parametrize(
    "delta",
    [b"short", format_replace(99, b"x"), format_full(b"xyz")[:-1], bytes([0, 0, 0, 9]) + bytes(8)],
)
def test_apply_refuses_a_delta_that_does_not_fit(delta: bytes) -> None:
    with pytest.raises(StoreError):
        apply_patches(OLD, [delta])
