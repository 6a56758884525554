"""What a request has come to: an answer, and where the pieces of its body are made."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from trunkline.hg.wire.answer import Answer
from trunkline.http.blocks import Pieces
from trunkline.http.follow import Following
from trunkline.http.send import Begun
from trunkline.http.threads import Lane


@dataclass(frozen=True, slots=True)
class Made:
    """An answer; `begun` is its body when that is a stream to be sent, whose pieces are made in
    `lane`.
    """

    answer: Answer
    begun: Begun | Following | None = None
    lane: Lane | None = None


def close_quietly(pieces: Pieces | None) -> None:
    if pieces is not None:
        with contextlib.suppress(Exception):
            pieces.close()
