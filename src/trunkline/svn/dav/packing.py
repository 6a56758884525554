"""gzip of answers in XML, for clients that take it. Texts in reports are packed already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from isal import isal_zlib

from trunkline.reply import Bytes, Stream
from trunkline.svn.dav.names import XML_TYPE
from trunkline.svn.dav.request import Answer, Request

GZIP = 16 + 15  # wbits of zlib: gzip's head, the largest window
LEVEL = 1
SHORT = 4096  # bytes; less isn't worth it


def packed(request: Request, answer: Answer) -> Answer:
    """The same, with a Content-Encoding where that helps."""
    if (b"content-type", XML_TYPE) not in answer.headers or not takes_gzip(request):
        return answer
    headers = [*answer.headers, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
    body = answer.body
    if isinstance(body, Stream):
        return replace(answer, headers=headers, body=Stream(pack(body.blocks)))
    if isinstance(body, Bytes) and len(body.data) >= SHORT:
        return replace(answer, headers=headers, body=Bytes(b"".join(pack(iter([body.data])))))
    return answer


def takes_gzip(request: Request) -> bool:
    words = request.header(b"accept-encoding").lower().split(b",")
    return any(
        word.partition(b";")[0].strip() == b"gzip" and b"q=0" not in word.replace(b"q=0.", b"")
        for word in words
    )


def pack(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Each block can be read as soon as it is there."""
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, GZIP)
    try:
        for block in blocks:
            if block:
                data = packer.compress(block) + packer.flush(isal_zlib.Z_SYNC_FLUSH)
                yield data
        yield packer.flush()
    finally:
        close = getattr(blocks, "close", None)
        if close is not None:
            close()
