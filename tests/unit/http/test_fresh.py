from __future__ import annotations

import asyncio
import threading

from trunkline.http.fresh import Fresh


def test_what_stands_in_the_queue_shares_a_look_and_what_comes_later_does_not() -> None:
    looks: list[str] = []

    async def run() -> None:
        fresh: Fresh[str, str] = Fresh()

        def answer(name: str) -> None:
            seen = fresh.get("r")
            if seen is None:
                fresh.begin()
                loop.call_soon_threadsafe(answer, "came during the first look")
                seen = name
                fresh.put("r", seen)
            looks.append(f"{name}: {seen}")

        loop = asyncio.get_running_loop()
        loop.call_soon(answer, "first")
        loop.call_soon(answer, "second")
        await asyncio.sleep(0.05)

    asyncio.run(run())
    # Each look lets one more come, which must look for itself.
    assert looks[:3] == [
        "first: first",
        "second: first",
        "came during the first look: came during the first look",
    ]


def test_change_before_a_request_is_always_seen() -> None:
    """Requests come from another thread, as Granian's do, each right after a change."""
    disk = 0
    stale: list[tuple[int, int]] = []
    looks = answered = 0

    async def run() -> None:
        loop = asyncio.get_running_loop()
        fresh: Fresh[str, int] = Fresh()
        running: list[asyncio.Task[None]] = []

        async def answer(least: int) -> None:
            nonlocal looks, answered
            seen = fresh.get("r")
            if seen is None:
                fresh.begin()
                seen = disk
                looks += 1
                fresh.put("r", seen)
            if seen < least:
                stale.append((seen, least))
            answered += 1

        def start(least: int) -> None:
            running.append(loop.create_task(answer(least)))

        def come() -> None:
            nonlocal disk
            for number in range(1, 3000):
                disk = number
                loop.call_soon_threadsafe(start, number)

        thread = threading.Thread(target=come)
        thread.start()
        while thread.is_alive() or answered < 2999:
            await asyncio.sleep(0)

    asyncio.run(run())
    assert stale == []
    assert looks <= answered == 2999
