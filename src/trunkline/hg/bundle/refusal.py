"""A refusal with advice to the person on the other side."""

from __future__ import annotations

from trunkline.errors import PeerError


class Refusal(PeerError):
    """`hint` is what to do about it."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint
