from __future__ import annotations

import pytest

from trunkline.errors import PeerError
from trunkline.hg.wire.request import POST_ARGUMENTS_LIMIT, post_arguments_length


@pytest.mark.parametrize(("value", "length"), [(b"0", 0), (b"17", 17), (b"0017", 17)])
def test_length_is_read_from_header(value: bytes, length: int) -> None:
    assert post_arguments_length({b"x-hgargs-post": value}) == length


def test_no_header_is_no_arguments() -> None:
    assert post_arguments_length({}) == 0


@pytest.mark.parametrize("value", [b"", b"-1", b"x", b"1e3", b"1 ", b"\xc2\xb2", b"+5"])
def test_what_is_no_length_is_refused(value: bytes) -> None:
    with pytest.raises(PeerError, match="not a length") as caught:
        post_arguments_length({b"x-hgargs-post": value})
    assert caught.value.status == 400


@pytest.mark.parametrize("value", [b"%d" % (POST_ARGUMENTS_LIMIT + 1), b"9" * 5000])
def test_length_past_limit_is_refused(value: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        post_arguments_length({b"x-hgargs-post": value})
    assert caught.value.status == 413


def test_length_at_limit_is_taken() -> None:
    headers = {b"x-hgargs-post": b"%d" % POST_ARGUMENTS_LIMIT}
    assert post_arguments_length(headers) == POST_ARGUMENTS_LIMIT
