"""Why there is no new revision."""

from __future__ import annotations

from trunkline.errors import TrunklineError


class CommitFailed(TrunklineError):
    """Nothing was committed, or the words say that it may have been. `code` is Subversion's, `path`
    is from the URL that was committed to; both are None where they aren't known."""

    def __init__(self, text: str, code: int | None = None, path: str | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.path = path
