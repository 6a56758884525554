"""An S3-compatible object store of the tests' own: SeaweedFS, on this machine's loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.compat.hg import ENVIRONMENT

PROGRAM = Path(sys.executable).with_name("weed")
KEYS = {"AWS_ACCESS_KEY_ID": "a-key", "AWS_SECRET_ACCESS_KEY": "a-secret"}
START_SECONDS = 60
SERVICES = ("master.port", "volume.port", "filer.port", "s3.port")


class ObjectStore:
    """Running. `url` is of its S3 service."""

    def __init__(self, url: str, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self._process = process

    def stop(self) -> None:
        """At once: it holds nothing that is worth a goodbye."""
        self._process.kill()
        self._process.wait()


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    (folder / "data").mkdir(parents=True)
    identity = {
        "name": "tests",
        "credentials": [
            {
                "accessKey": KEYS["AWS_ACCESS_KEY_ID"],
                "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"],
            }
        ],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    ports = free_ports(2 * len(SERVICES))
    words = [f"-{name}={ports.pop()}" for name in SERVICES]
    url = "http://127.0.0.1:" + words[-1].partition("=")[2]
    words += [f"-{name}.grpc={ports.pop()}" for name in SERVICES]
    words += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder / 'data'}", "-volume.max=4"]
    words += ["-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-filer=true", "-s3"]
    words += ["-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={folder / 's3.json'}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, "server", *words],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    store = ObjectStore(url, process)
    try:
        await_answer(url, process, folder / "log")
        yield store
    finally:
        store.stop()


def await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            return  # it wants a key
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(log.read_text(errors="replace")[-3000:])


def free_ports(count: int) -> list[int]:
    """Free a moment ago."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
