"""A name is the same exactly where the bytes are."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import pytest
from tests.unit.hg.store.stock import Stock

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.recipe import Job, digest
from trunkline.hg.wire.request import Request
from trunkline.hg.wire.served import Served
from trunkline.reply import Order, Recipe, Stream

ZSTD = {b"x-hgproto-1": b"0.1 0.2 comp=zstd,zlib"}
BUNDLE2 = quote("HG20,bundle2=" + quote("HG20\nchangegroup=01,02"))


def recipe(
    stock: Stock,
    query: str = "cmd=getbundle",
    headers: Mapping[bytes, bytes] = ZSTD,
    user: str | None = None,
    **config: str,
) -> Recipe:
    values = {tuple(name.split("__")): value for name, value in config.items()}
    settings = HgConfig(values, values)  # type: ignore[arg-type]
    root = str(stock.path)
    served = Served(root, settings, Bridge(root, ()), stock.repository())
    body = answer(served, Request("GET", query.encode(), headers, user=user)).body
    assert isinstance(body, Stream)
    assert body.recipe is not None
    return body.recipe


def order(stock: Stock, *where: Any, **how: Any) -> Order:
    return recipe(stock, *where, **how).write()


def name(stock: Stock, *where: Any, **how: Any) -> str:
    return order(stock, *where, **how).name


def test_same_question_in_the_same_state_has_the_same_name(plain: Stock) -> None:
    assert name(plain) == name(plain)
    assert len(name(plain)) == 40
    assert recipe(plain).size > 0


def test_order_of_arguments_and_what_makes_no_difference_are_left_out(plain: Stock) -> None:
    repository = plain.repository().snapshot()
    a, b = (repository.changelog.node(rev).hex() for rev in (0, 1))
    null = "0" * 40
    asked = f"cmd=getbundle&bundlecaps={BUNDLE2}&cg=1"
    same = [
        f"{asked}&common={a}%20{null}&heads={b}%20{a}",
        f"{asked}&heads={a}%20{b}&common={null}%20{a}",
        f"{asked}&heads={a}%20{b}&common={null}%20{a}&cbattempted=1&unknown=2",
    ]
    assert len({name(plain, query) for query in same}) == 1
    headers = {**ZSTD, b"user-agent": b"another"}
    assert name(plain, same[0], headers) == name(plain, same[0])


@pytest.mark.parametrize(
    "how",
    [
        {"query": "cmd=getbundle&common=" + "0" * 40 + "%20" + "1" * 40},
        {"query": f"cmd=getbundle&bundlecaps={BUNDLE2}"},
        {"query": f"cmd=getbundle&bundlecaps={BUNDLE2}&bookmarks=0"},
        {"query": f"cmd=getbundle&bundlecaps={BUNDLE2}&listkeys=phases"},
        {"query": "cmd=changegroup&roots=" + "0" * 40},
        {"headers": {}},
        {"headers": {b"x-hgproto-1": b"0.2 comp=zlib"}},
        {"server__zstdlevel": "4"},
        {"server__view": "immutable"},
        {"web__description": "another configuration"},
    ],
)
def test_everything_that_the_bytes_may_depend_on_is_in_the_name(
    plain: Stock, how: dict[str, Any]
) -> None:
    assert name(plain, **how) != name(plain)


def test_who_may_see_hidden_changesets_has_names_of_their_own(plain: Stock) -> None:
    config = {"experimental__server.allow-hidden-access": "ann"}
    query = "cmd=getbundle&access-hidden=1"
    anybody, ann = (name(plain, query, user=user, **config) for user in (None, "ann"))
    assert anybody != ann


def test_state_is_in_the_name(plain: Stock) -> None:
    names = [name(plain)]
    plain.bookmark(b"mark", 1)
    names.append(name(plain))
    plain.retract(1, 2)
    names.append(name(plain))
    plain.commit(2)
    names.append(name(plain))
    plain.rewrite([3], [])
    names.append(name(plain))
    assert len(set(names)) == 5


def test_any_lock_of_mercurials_is_in_the_name(plain: Stock) -> None:
    """As `hg censor` takes, which changes contents and no changeset."""
    before = name(plain)
    time.sleep(0.02)
    with plain.repo.lock():
        pass
    assert name(plain) != before


def test_unpacked_reply_is_larger(plain: Stock) -> None:
    unpacked = recipe(
        plain,
        headers={b"x-hgproto-1": b"0.2 comp=none"},
        server__compressionengines="none",
    )
    packed = recipe(plain)
    assert unpacked.size == 3 * packed.size


def test_job_holds_no_more_than_the_answer_depends_on(plain: Stock) -> None:
    headers = {**ZSTD, b"authorization": b"Basic secret", b"cookie": b"secret"}
    job = pickle.loads(order(plain, headers=headers).job)
    assert isinstance(job, Job)
    assert job.request.headers == ZSTD
    assert b"secret" not in order(plain, headers=headers).job


def test_digest_tells_apart_how_parts_are_cut() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"]) != digest([b"abc"])
