"""What a worker does when it is told to stop: once, whoever says it how often.

Granian's own handlers put a word into a channel for each signal. The channel takes two; the third
holds up the event loop, and every thread behind it, until somebody kills the worker: replies that
were to end stand still. A Ctrl-C in a terminal reaches parent and workers, and the parent tells
the workers again, so a second one is enough. (granian 2.8.9, _signals.py, WorkerSignal.)
"""

from __future__ import annotations

import asyncio
import signal
from functools import partial

import granian._signals
from granian._granian import WorkerSignal


def heed_once() -> None:
    """In a worker, before Granian sets its handlers."""
    for number in (signal.SIGINT, signal.SIGHUP):  # a terminal's, which the parent gets as well
        signal.signal(number, signal.SIG_IGN)
    granian._signals.set_loop_signals = set_loop_signals


def set_loop_signals(loop: asyncio.AbstractEventLoop) -> WorkerSignal:
    """In place of Granian's. SIGINT is for the parent, which tells us: a worker that ends by it
    before the parent has taken notice would seem to have died."""
    stop = WorkerSignal()
    loop.add_signal_handler(signal.SIGTERM, partial(tell_once, loop, stop))
    return stop


def tell_once(loop: asyncio.AbstractEventLoop, stop: WorkerSignal) -> None:
    loop.add_signal_handler(signal.SIGTERM, nothing)
    stop.set()


def nothing() -> None:
    pass
