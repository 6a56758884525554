"""Whatever is sent as JSON of LFS: a request, or the fault of who sent it."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.errors import PeerError
from trunkline.hg.large.batch import Offered, format_offered, parse_batch, parse_verify
from trunkline.http.lfs import format_offers, parse_wish

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
OBJECTS = st.lists(
    st.fixed_dictionaries({}, optional={"oid": VALUES | st.just("0" * 64), "size": VALUES})
    | VALUES,
    max_size=3,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "operation": VALUES | st.sampled_from(["upload", "download"]),
        "objects": VALUES | OBJECTS,
        "transfers": VALUES | st.lists(st.text(max_size=5)),
        "hash_algo": VALUES | st.just("sha256"),
        "ref": VALUES,
    },
)


@given(st.binary(max_size=60) | REQUESTS.map(lambda value: json.dumps(value).encode()))
@example(b'{"operation":"upload","objects":[{"oid":"\xff","size":1}]}')
@example(b"[" * 100_000)
@example(b'{"operation":"upload","objects":[{"oid":"a","size":1e400}]}')
@example(b'{"operation":"upload","objects":[{"oid":"\\ud800","size":1}]}')
def test_only_the_peers_fault_is_raised(data: bytes) -> None:
    with suppress(PeerError):
        batch = parse_batch(data)
        offers = format_offers(batch, lambda wanted: Offered(wanted.oid, wanted.size))
        reply = json.loads(b"".join(offers))
        assert [found["oid"] for found in reply["objects"]] == [
            wanted.oid for wanted in batch.objects
        ]
    with suppress(PeerError):
        format_offered(Offered(parse_verify(data).oid, 0))


@given(st.lists(st.sampled_from([b"/", b".git", b"info", b"lfs", b"objects", b".hg", b"%2e"])))
def test_a_path_is_of_lfs_or_not(words: list[bytes]) -> None:
    wish = parse_wish(b"/" + b"".join(words))
    assert wish is None or wish.base in b"/" + b"".join(words)
