"""Whole answers, kept for as long as the repository stays as it is.

Whoever pulls again and again asks the same again and again. What is kept is only ever given out
for a state that was looked at after the request came, so it is as fresh as if it were made anew.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

Kept = TypeVar("Kept")

ANSWERS_LIMIT = 256 * 1024  # bytes of keys and answers, for one repository
ANSWER_LIMIT = 32 * 1024  # bytes of one key and its answer
OVERHEAD = 1024  # bytes that one costs besides, about

Key = tuple[object, ...]


class Answers(Generic[Kept]):
    """Of one owner, compared by identity; those of another are forgotten. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._owner: object = None
        self._answers: dict[Key, Kept] = {}
        self._size = 0

    def get(self, owner: object, key: Key) -> Kept | None:
        with self._lock:
            return self._answers.get(key) if self._owner is owner else None

    def put(self, owner: object, key: Key, answer: Kept, size: int) -> None:
        """`size` is of the key and the answer together. Units: bytes."""
        if size > ANSWER_LIMIT:
            return
        size += OVERHEAD
        with self._lock:
            if self._owner is not owner or self._size + size > ANSWERS_LIMIT:
                self._owner, self._answers, self._size = owner, {}, 0
            if key not in self._answers:
                self._answers[key] = answer
                self._size += size
