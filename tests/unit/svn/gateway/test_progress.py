"""What is said of a commit on its way."""

from __future__ import annotations

from trunkline.svn.gateway.progress import Progress


def test_says_nothing_while_the_client_speaks() -> None:
    assert Progress(10, 1, 1000, 10).describe(0.0) == ""


def test_says_what_is_sent_and_then_that_it_waits() -> None:
    progress = Progress(10_000, 5_120, 20_300_000, 12_100_000, ending_since=1.0)
    assert progress.describe(2.0) == "5,120 of 10,000 files and 12.1 of 20.3 MB sent"
    progress.bytes_sent = progress.bytes_taken
    assert progress.describe(4.0) == "all sent; the server commits (3 s)"
    progress.is_over = True
    assert progress.describe(5.0) == ""
