"""Whether a process is still there, by what each system offers."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Neither gone nor a zombie, which nobody but its parent (or init) can reap."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _state(pid) not in ("", "Z")


def _state(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat")
    try:
        if Path("/proc/self/stat").exists():  # Linux
            return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
    said = subprocess.run(
        ["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return said.stdout.strip()[:1]


def await_end(pid: int, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def children() -> int:
    """How many processes this one has started that are not reaped yet."""
    said = subprocess.run(
        ["ps", "-A", "-o", "ppid=,comm="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 1) for line in said.splitlines()]
    return sum(row[0] == str(os.getpid()) and not row[-1].startswith("ps") for row in rows)
