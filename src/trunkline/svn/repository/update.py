"""An update: what the client has is told first, then libsvn drives an editor to what it wants.

One drive serves checkout, update, switch, diff and status.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

from trunkline.svn.repository.editor import Editor, make_editor
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.session import Session
from trunkline.svn.repository.values import new_text, optional

DEPTHS = {
    b"unknown": -2,
    b"exclude": -1,
    b"empty": 0,
    b"files": 1,
    b"immediates": 2,
    b"infinity": 3,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """`anchor` and `other` are paths in the repository; `target` is one name, or empty."""

    revision: int
    anchor: bytes
    target: bytes = b""
    other: bytes | None = None
    depth: int = DEPTHS[b"infinity"]
    with_texts: bool = True
    ignore_ancestry: bool = False
    with_copyfrom: bool = False


class Report:
    """Paths are relative to the anchor. libsvn keeps a long report in a temporary file."""

    def __init__(self, session: Session, wish: Wish, editor: Editor) -> None:
        self._pool = Pool(session.pool)
        self._scratch = Pool(self._pool)
        self._is_open = False
        out = ffi.new("void **")
        try:
            check(
                lib.svn_repos_begin_report3(
                    out,
                    wish.revision,
                    session.repos,
                    new_text(wish.anchor, self._pool),
                    new_text(wish.target, self._pool),
                    new_text(wish.other, self._pool),
                    int(wish.with_texts),
                    wish.depth,
                    int(wish.ignore_ancestry),
                    int(wish.with_copyfrom),
                    make_editor(self._pool),
                    self._pool.baton(editor),
                    *session.authz(),
                    0,
                    self._pool.handle,
                )
            )
        except BaseException:
            self._pool.destroy()
            raise
        self._baton: Any = out[0]
        self._is_open = True

    def __enter__(self) -> Report:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_open:
            lib.svn_error_clear(lib.svn_repos_abort_report(self._baton, self._pool.handle))
        self._pool.destroy()

    def set_path(
        self,
        path: bytes,
        revision: int,
        depth: int,
        start_empty: bool,
        lock_token: bytes | None,
        link: bytes | None = None,
    ) -> None:
        """The client has `path` (or what `link` in the repository names) as of `revision`."""
        self._scratch.clear()
        rest = (revision, depth, int(start_empty), optional(lock_token), self._scratch.handle)
        if link is None:
            check(lib.svn_repos_set_path3(self._baton, path, *rest))
        else:
            check(lib.svn_repos_link_path3(self._baton, path, link, *rest))

    def delete_path(self, path: bytes) -> None:
        self._scratch.clear()
        check(lib.svn_repos_delete_path(self._baton, path, self._scratch.handle))

    def finish(self) -> None:
        """Drives the editor. Raises: SvnError, and what the editor raises."""
        self._is_open = False
        check(lib.svn_repos_finish_report(self._baton, self._pool.handle))
