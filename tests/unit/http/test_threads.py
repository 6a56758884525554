from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from asyncio import Future

import pytest

from trunkline.http.threads import Threads


def test_gives_the_value_and_the_error() -> None:
    async def run() -> None:
        threads = Threads(2, "t")
        assert await threads.run(divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            await threads.run(divmod, 7, 0)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.run(next, iter(()))
        assert await threads.run(lambda: threading.current_thread().name) in ("t-0", "t-1")
        threads.close()

    asyncio.run(run())


def test_a_cancelled_future_stops_nothing() -> None:
    async def run() -> None:
        threads = Threads(1, "t")
        go, done = threading.Event(), threading.Event()

        def work() -> None:
            go.wait(10)
            done.set()

        future = threads.run(work)
        future.cancel()
        go.set()
        assert await threads.run(lambda: 5) == 5
        assert done.is_set()
        threads.close()

    asyncio.run(run())


def test_an_idle_thread_holds_nothing_alive() -> None:
    class Thing:
        def work(self) -> None:
            pass

    async def run() -> None:
        threads = Threads(1, "t")
        thing = Thing()
        seen = weakref.ref(thing)
        await threads.run(thing.work)
        del thing
        await threads.run(lambda: None)
        gc.collect()
        assert seen() is None
        threads.close()

    asyncio.run(run())


def test_one_thread_does_all_jobs_that_come_one_by_one() -> None:
    async def run() -> set[int]:
        threads = Threads(8, "t")
        names = {await threads.run(threading.get_ident) for _ in range(50)}
        threads.close()
        return names

    assert len(asyncio.run(run())) == 1


def test_jobs_at_once_have_a_thread_each_and_the_others_wait_in_order() -> None:
    async def run() -> None:
        threads = Threads(3, "t")
        met = threading.Barrier(3, timeout=10)
        begun: list[int] = []

        def meet(number: int) -> int:
            met.wait()
            return number

        first = [threads.run(meet, number) for number in range(3)]
        then = [threads.run(begun.append, number) for number in range(20)]
        last = threads.run(lambda: 5)
        threads.close()
        assert await asyncio.gather(*first) == [0, 1, 2]
        assert await last == 5
        await asyncio.gather(*then)
        assert sorted(begun) == list(range(20))
        for thread in threads._threads:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()

    asyncio.run(run())


def test_closed_threads_end() -> None:
    async def run() -> list[threading.Thread]:
        threads = Threads(3, "t")
        threads.close()
        return threads._threads

    for thread in asyncio.run(run()):
        thread.join(10)
        assert not thread.is_alive()


def hold(threads: Threads, guest: str, count: int, go: threading.Event) -> list[Future[bool]]:
    return [threads.run_for(guest, go.wait, 10) for _ in range(count)]


def test_guests_take_turns() -> None:
    """Whoever comes with one job waits for one of another's hundred."""

    async def run() -> list[str]:
        threads, go, begun = Threads(1, "t"), threading.Event(), list[str]()
        first = hold(threads, "a", 1, go)
        many = [threads.run_for("a", begun.append, "a") for _ in range(100)]
        few = [threads.run_for(guest, begun.append, guest) for guest in "bcb"]
        go.set()
        await asyncio.gather(*first, *many, *few)
        threads.close()
        return begun

    begun = asyncio.run(run())
    assert begun[:6] == ["a", "b", "c", "a", "b", "a"]
    assert begun[6:] == ["a"] * 97


def test_one_guest_has_no_more_than_its_share() -> None:
    async def run() -> None:
        threads, go = Threads(4, "t", share=2), threading.Event()
        held = hold(threads, "a", 9, go)
        assert await asyncio.wait_for(threads.run_for("b", lambda: 5), 10) == 5
        assert await asyncio.wait_for(threads.run(lambda: 6), 10) == 6
        assert threads._held == {"a": 2}
        assert len(threads._idle) == 2
        go.set()
        assert await asyncio.gather(*held) == [True] * 9
        assert not threads._held
        assert not threads._waiting
        assert len(threads._idle) == 4
        threads.close()

    asyncio.run(run())


def test_jobs_that_wait_for_their_share_are_done_before_the_end() -> None:
    async def run() -> None:
        threads, go = Threads(3, "t", share=1), threading.Event()
        held = hold(threads, "a", 3, go)
        threads.close()
        go.set()
        assert await asyncio.gather(*held) == [True] * 3
        for thread in threads._threads:
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()

    asyncio.run(run())
