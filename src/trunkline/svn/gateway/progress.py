"""How far a commit has come, and the words for it."""

from __future__ import annotations

import time
from dataclasses import dataclass

MB = 1_000_000


@dataclass
class Progress:
    """`taken` from the client, `sent` upstream. Of a stream, `sent` is what has left; of plain
    requests, what was answered. Bytes are those that go upstream.
    """

    files_taken: int = 0
    files_sent: int = 0
    bytes_taken: int = 0
    bytes_sent: int = 0
    ending_since: float | None = None  # the client waits for the end
    is_over: bool = False

    def end(self) -> None:
        self.ending_since = time.monotonic()

    def describe(self, now: float) -> str:
        """Nothing while the client shows its own."""
        if self.ending_since is None or self.is_over:
            return ""
        if self.bytes_sent >= self.bytes_taken:
            return f"all sent; the server commits ({now - self.ending_since:.0f} s)"
        return (
            f"{self.files_sent:,} of {self.files_taken:,} files and "
            f"{self.bytes_sent / MB:,.1f} of {self.bytes_taken / MB:,.1f} MB sent"
        )
