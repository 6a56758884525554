"""Many at once: clones side by side, slow readers, a link that is full."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.dataset import ENVIRONMENT
from benchmarks.process import Server, bin_path
from benchmarks.reader import Connection, argument_headers
from benchmarks.rounds import Figures

MBIT = 1_000_000 / 8  # bytes
SLOW_BYTES_PER_SECOND = 10_000
SLOW_SECONDS = 6.0
LATENCY_REQUESTS = 300
GIGABIT = 125_000_000  # bytes a second
GIGABIT_SECONDS = 5.0
PIECE = 256 * 1024  # bytes that a reader takes before it looks at the clock


def read_side_by_side(server: Server, count: int, headers: dict[str, str]) -> Figures:
    """Byte readers; figures are of all of them together."""

    def read(_: int) -> int:
        connection = Connection(server.port)
        try:
            return connection.get("/?cmd=getbundle", headers).bytes_body
        finally:
            connection.close()

    before, started = server.cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        sizes = list(pool.map(read, range(count)))
    wall, cpu = time.perf_counter() - started, server.cpu_seconds() - before
    return {"mbit_per_s": sum(sizes) / MBIT / wall, "server_cpu_s": cpu}


def clone_side_by_side(server: Server, count: int, how: str, size: int) -> Figures:
    """Real clients. `how`: "normal", "uncompressed", "init and pull"; `size`: bytes of a reply."""
    scratch = Path(tempfile.mkdtemp(prefix="trunkline-bench-"))
    hg = bin_path("hg")
    try:
        commands = []
        for number in range(count):
            target = str(scratch / str(number))
            if how == "init and pull":
                subprocess.run([hg, "init", target], env=ENVIRONMENT, check=True)
                commands.append([hg, "-R", target, "pull", "-q", server.url])
            else:
                option = "--stream" if how == "uncompressed" else "--pull"
                commands.append([hg, "clone", "-q", "-U", option, server.url, target])
        cpu, used, started = server.cpu_seconds(), client_cpu(), time.perf_counter()
        running = [subprocess.Popen(command, env=ENVIRONMENT) for command in commands]
        assert not any(client.wait() for client in running), "a clone failed"
        wall = time.perf_counter() - started
        return {
            "mbit_per_s": size * count / MBIT / wall,
            "server_cpu_s": server.cpu_seconds() - cpu,
            "client_cpu_s": client_cpu() - used,
        }
    finally:
        shutil.rmtree(scratch)


def client_cpu() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def dripping(server: Server, count: int, headers: dict[str, str]) -> Iterator[None]:
    """So many readers of a clone, each of which takes 10 kB a second."""
    is_over = threading.Event()

    def drip(connection: Connection) -> None:
        while not is_over.wait(0.1):
            connection.drop(SLOW_BYTES_PER_SECOND // 10)

    with ExitStack() as stack:
        connections = [Connection(server.port) for _ in range(count)]
        for connection in connections:
            stack.callback(connection.close)
            connection.ask("/?cmd=getbundle", headers)
        threads = [threading.Thread(target=drip, args=(one,)) for one in connections]
        for thread in threads:
            thread.start()
        try:
            time.sleep(SLOW_SECONDS)
            yield
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


def latency(server: Server) -> float:
    """Of `capabilities`, the median. Units: seconds."""
    plain = argument_headers({})
    taken = []
    for _ in range(LATENCY_REQUESTS):
        connection = Connection(server.port)  # a new one: stock waits for TCP's timers on old ones
        try:
            started = time.perf_counter()
            connection.get("/?cmd=capabilities", plain)
            taken.append(time.perf_counter() - started)
        finally:
            connection.close()
        time.sleep(0.005)
    return median(taken)


def slow_readers(server: Server, count: int, headers: dict[str, str]) -> Figures:
    idle = latency(server)
    with dripping(server, count, headers):
        busy = latency(server)
    return {"latency_idle_s": idle, "latency_s": busy, "latency_ratio": busy / idle}


def full_link(server: Server, connections: int, headers: dict[str, str]) -> Figures:
    """Readers that take 125 MB a second together, one clone after the other."""
    share = GIGABIT / connections
    until = time.perf_counter() + GIGABIT_SECONDS
    read: list[int] = []

    def follow(_: int) -> None:
        taken, started = 0, time.perf_counter()

        def pace(data: bytes) -> None:
            nonlocal taken
            taken += len(data)
            ahead = taken / share - (time.perf_counter() - started)
            if ahead > 0:
                time.sleep(ahead)
            if time.perf_counter() > until:
                raise TimeoutError

        while time.perf_counter() < until:
            connection = Connection(server.port, PIECE)
            try:
                connection.get("/?cmd=getbundle", headers, sink=pace)
            except TimeoutError:
                break
            finally:
                connection.close()
        read.append(taken)

    before, started = server.cpu_seconds(), time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(follow, range(connections)))
    wall = time.perf_counter() - started
    cpu = server.cpu_seconds() - before
    return {"bytes_per_s": sum(read) / wall, "cores_at_a_gigabit": cpu / (sum(read) / GIGABIT)}
