from __future__ import annotations

import os
import threading
import zlib

import pytest
import zstandard

from trunkline.errors import StoreError
from trunkline.hg.store.chunk import decompress

TEXT = b"a line of text\n" * 999


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        (b"", b""),
        (b"\0", b"\0"),
        (b"\0raw", b"\0raw"),
        (b"u", b""),
        (b"uliteral", b"literal"),
        (zlib.compress(TEXT), TEXT),
        (zlib.compress(TEXT, 0), TEXT),
        (zstandard.compress(TEXT), TEXT),
        (zstandard.compress(b""), b""),
    ],
)
def test_decompress_gives_what_was_stored(chunk: bytes, text: bytes) -> None:
    assert decompress(chunk) == text


@pytest.mark.parametrize("chunk", [b"\x01abc", b"vabc", b"\xff", b"x", b"xabc", b"(", b"(abc"])
def test_decompress_refuses_what_no_mercurial_wrote(chunk: bytes) -> None:
    with pytest.raises(StoreError):
        decompress(chunk)


@pytest.mark.parametrize("whole", [zlib.compress(TEXT), zstandard.compress(TEXT)])
def test_decompress_refuses_a_chunk_that_is_cut(whole: bytes) -> None:
    for length in (2, len(whole) // 2, len(whole) - 1):
        with pytest.raises(StoreError):
            decompress(whole[:length])


def test_decompress_may_be_called_from_many_threads() -> None:
    texts = [os.urandom(2000) * 20 for _ in range(4)]
    failures: list[int] = []

    def work(number: int) -> None:
        chunk = zstandard.compress(texts[number])
        if any(decompress(chunk) != texts[number] for _ in range(500)):
            failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
