from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from trunkline.config.limits import Limits
from trunkline.errors import ClientGone, PeerError
from trunkline.http.body import PIECE_BYTES, SMALL_PIECES, Message, RequestBody, announced_length
from trunkline.http.limits import ArgumentBytes, Held
from trunkline.http.threads import Threads

Value = TypeVar("Value")
SLOWEST = 100  # bytes/s


def with_body(
    parts: Sequence[bytes | None],
    use: Callable[[RequestBody], Awaitable[Value]],
    idle_seconds: float = 30,
    stalls: bool = False,
) -> Value:
    """`parts` are the messages; None: the client goes away; after them nothing comes, and if it
    `stalls`, more was to come."""
    messages: list[Message] = [
        {"type": "http.disconnect"}
        if part is None
        else {"type": "http.request", "body": part, "more_body": stalls or number + 1 < len(parts)}
        for number, part in enumerate(parts)
    ]

    async def receive() -> Message:
        if not messages:
            await asyncio.sleep(60)
        return messages.pop(0)

    async def run() -> Value:
        return await use(RequestBody(receive, idle_seconds, SLOWEST))

    return asyncio.run(run())


def held(limits: Limits | None = None) -> Held:
    return Held(ArgumentBytes(limits or Limits()), "192.0.2.1")


DATA = b"arguments and then a payload"


@pytest.mark.parametrize("cut", range(len(DATA) + 1))
def test_arguments_then_payload_for_any_cut(cut: int) -> None:
    async def use(body: RequestBody) -> tuple[bytes, bytes]:
        threads = Threads(1, "t")
        arguments = await body.read(9, held(), 30, 30)
        payload = await threads.run(lambda: b"".join(body.blocks(1000)))
        threads.close()
        assert body.is_complete
        return arguments, payload

    assert with_body([DATA[:cut], DATA[cut:]], use) == (DATA[:9], DATA[9:])


def test_fewer_bytes_than_announced_is_the_peers_fault() -> None:
    async def use(body: RequestBody) -> bytes:
        return await body.read(10, held(), 30, 30)

    with pytest.raises(PeerError, match="10 bytes announced, the body has 7") as caught:
        with_body([b"abc", b"defg"], use)
    assert caught.value.status == 400


def test_a_body_in_tiny_pieces_is_refused() -> None:
    """Three megabytes, two bytes at a time, would cost a minute of CPU."""

    async def use(body: RequestBody) -> bytes:
        return await body.read(10**6, held(), 30, 30)

    assert len(with_body([b"ab"] * SMALL_PIECES + [bytes(2 * 10**6)], use)) == 10**6
    with pytest.raises(PeerError, match="in pieces of less than 256 bytes"):
        with_body([b"ab"] * (SMALL_PIECES + 1), use)
    usual = [bytes(PIECE_BYTES)] * 6000
    assert len(with_body(usual, use)) == 10**6


def test_reading_nothing_waits_for_nothing() -> None:
    async def use(body: RequestBody) -> bytes:
        return await body.read(0, held(), 30, 30)

    assert with_body([], use) == b""


def test_drain_tells_whether_it_came_to_the_end() -> None:
    async def use(body: RequestBody) -> bool:
        return await body.drain(10)

    assert with_body([b"12345", b"67890"], use) is True
    assert with_body([b"12345", b"678901", b"x"], use) is False


def test_payload_past_its_limit_is_refused_in_the_thread() -> None:
    async def use(body: RequestBody) -> list[bytes]:
        threads = Threads(1, "t")
        try:
            return await threads.run(lambda: list(body.blocks(10)))
        finally:
            threads.close()

    assert with_body([b"12345", b"67890"], use) == [b"12345", b"67890"]
    with pytest.raises(PeerError) as caught:
        with_body([b"12345", b"678901"], use)
    assert caught.value.status == 413


def test_a_client_that_goes_away_is_told_apart_from_an_end() -> None:
    async def use(body: RequestBody) -> list[bytes]:
        threads = Threads(1, "t")
        try:
            return await threads.run(lambda: list(body.blocks(100)))
        finally:
            threads.close()
            assert body.is_gone

    with pytest.raises(ClientGone):
        with_body([b"123", None], use)


def test_a_client_that_sends_nothing_is_given_up() -> None:
    async def use(body: RequestBody) -> bool:
        return await body.drain(5)

    with pytest.raises(PeerError) as caught:
        with_body([], use, idle_seconds=0.05)
    assert caught.value.status == 408


@pytest.mark.parametrize("limits", [(0.05, 30), (30, 0.05)])
def test_arguments_have_limits_of_their_own_to_their_time(limits: tuple[float, float]) -> None:
    taken = held()

    async def use(body: RequestBody) -> bytes:
        try:
            return await body.read(5, taken, *limits)
        finally:
            assert body.is_gone

    with pytest.raises(PeerError) as caught:
        with_body([b"abc"], use, stalls=True)
    assert caught.value.status == 408
    assert taken.size == 3


def test_arguments_count_as_they_come() -> None:
    taken = held(Limits(post_args_bytes=4, all_post_args_bytes=4))

    async def use(body: RequestBody) -> bytes:
        return await body.read(100, taken, 30, 30)

    with pytest.raises(PeerError) as caught:
        with_body([b"abc", b"d", b"e"], use)
    assert caught.value.status == 503
    assert taken.size == 4


@pytest.mark.parametrize(
    ("headers", "length"),
    [
        ({}, 0),
        ({b"content-length": b"12"}, 12),
        ({b"transfer-encoding": b"chunked"}, None),
    ],
)
def test_announced_length(headers: dict[bytes, bytes], length: int | None) -> None:
    assert announced_length(headers) == length


@pytest.mark.parametrize(
    ("value", "status"),
    [(b"", 400), (b"-1", 400), (b"1x", 400), (b"+1", 400), (b"0x10", 400), (b"9" * 20, 413)],
)
def test_bad_content_length_is_refused(value: bytes, status: int) -> None:
    with pytest.raises(PeerError) as caught:
        announced_length({b"content-length": value})
    assert caught.value.status == status


def trickle(piece: int) -> bool:
    """Ten pieces without a long pause: 0.3 s of waiting in all."""

    async def run() -> bool:
        left = 10

        async def receive() -> Message:
            nonlocal left
            left -= 1
            await asyncio.sleep(0.03)
            return {"type": "http.request", "body": bytes(piece), "more_body": left > 0}

        return await RequestBody(receive, 0.1, SLOWEST).drain(1000)

    return asyncio.run(run())


def test_a_body_that_trickles_is_refused() -> None:
    with pytest.raises(PeerError, match="less than 100 bytes") as caught:
        trickle(1)
    assert caught.value.status == 408


def test_a_slow_body_is_taken() -> None:
    assert trickle(20)
