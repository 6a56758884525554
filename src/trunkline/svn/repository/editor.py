"""libsvn drives an editor: its calls, made to a Python object."""

from __future__ import annotations

from typing import Any, Protocol

from trunkline.svn.repository.library import Pool, callback, check, ffi, lib
from trunkline.svn.repository.values import string, text


class Editor(Protocol):
    """Folders are opened and closed as a tree is walked, so each call is about the last opened.

    Paths are relative to the root of the edit. `apply_text` gives a writer of svndiff, or None
    when the text isn't wanted.
    """

    def set_target_revision(self, revision: int) -> None: ...
    def open_root(self, revision: int) -> None: ...
    def delete_entry(self, path: bytes, revision: int) -> None: ...
    def add_dir(self, path: bytes, source: bytes | None, source_rev: int) -> None: ...
    def open_dir(self, path: bytes, revision: int) -> None: ...
    def change_prop(self, name: bytes, value: bytes | None) -> None: ...
    def close_dir(self) -> None: ...
    def absent(self, path: bytes, is_dir: bool) -> None: ...
    def add_file(self, path: bytes, source: bytes | None, source_rev: int) -> None: ...
    def open_file(self, path: bytes, revision: int) -> None: ...
    def apply_text(self, base_checksum: bytes | None) -> SvndiffWriter | None: ...
    def close_file(self, checksum: bytes | None) -> None: ...
    def close_edit(self) -> None: ...


class SvndiffWriter(Protocol):
    """`version` 0 plain, 1 zlib, 2 LZ4."""

    version: int
    level: int

    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...


@callback("svn_error_t *(void *, svn_revnum_t, apr_pool_t *)")
def _set_target_revision(baton: Any, revision: int, _pool: Any) -> None:
    ffi.from_handle(baton).set_target_revision(revision)


@callback("svn_error_t *(void *, svn_revnum_t, apr_pool_t *, void **)")
def _open_root(baton: Any, revision: int, _pool: Any, out: Any) -> None:
    out[0] = baton
    ffi.from_handle(baton).open_root(revision)


@callback("svn_error_t *(const char *, svn_revnum_t, void *, apr_pool_t *)")
def _delete_entry(path: Any, revision: int, baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton).delete_entry(ffi.string(path), revision)


@callback("svn_error_t *(const char *, void *, const char *, svn_revnum_t, apr_pool_t *, void **)")
def _add_dir(path: Any, baton: Any, source: Any, source_rev: int, _pool: Any, out: Any) -> None:
    out[0] = baton
    ffi.from_handle(baton).add_dir(ffi.string(path), text(source), source_rev)


@callback("svn_error_t *(const char *, void *, svn_revnum_t, apr_pool_t *, void **)")
def _open_dir(path: Any, baton: Any, revision: int, _pool: Any, out: Any) -> None:
    out[0] = baton
    ffi.from_handle(baton).open_dir(ffi.string(path), revision)


@callback("svn_error_t *(void *, const char *, const svn_string_t *, apr_pool_t *)")
def _change_prop(baton: Any, name: Any, value: Any, _pool: Any) -> None:
    ffi.from_handle(baton).change_prop(ffi.string(name), string(value))


@callback("svn_error_t *(void *, apr_pool_t *)")
def _close_dir(baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton).close_dir()


@callback("svn_error_t *(const char *, void *, apr_pool_t *)")
def _absent_dir(path: Any, baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton).absent(ffi.string(path), True)


@callback("svn_error_t *(const char *, void *, apr_pool_t *)")
def _absent_file(path: Any, baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton).absent(ffi.string(path), False)


@callback("svn_error_t *(const char *, void *, const char *, svn_revnum_t, apr_pool_t *, void **)")
def _add_file(path: Any, baton: Any, source: Any, source_rev: int, _pool: Any, out: Any) -> None:
    out[0] = baton
    ffi.from_handle(baton).add_file(ffi.string(path), text(source), source_rev)


@callback("svn_error_t *(const char *, void *, svn_revnum_t, apr_pool_t *, void **)")
def _open_file(path: Any, baton: Any, revision: int, _pool: Any, out: Any) -> None:
    out[0] = baton
    ffi.from_handle(baton).open_file(ffi.string(path), revision)


@callback(
    "svn_error_t *(void *, const char *, apr_pool_t *, svn_txdelta_window_handler_t *, void **)"
)
def _apply_textdelta(
    baton: Any, base_checksum: Any, pool: Any, handler: Any, handler_baton: Any
) -> None:
    editor = ffi.from_handle(baton)
    writer = editor.apply_text(text(base_checksum))
    if writer is None:
        handler[0] = lib.svn_delta_noop_window_handler
        handler_baton[0] = ffi.NULL
        return
    editor.svndiff_handle = write_svndiff_to(writer, pool, handler, handler_baton)


@callback("svn_error_t *(void *, const char *, apr_pool_t *)")
def _close_file(baton: Any, checksum: Any, _pool: Any) -> None:
    ffi.from_handle(baton).close_file(text(checksum))


@callback("svn_error_t *(void *, apr_pool_t *)")
def _close_edit(baton: Any, _pool: Any) -> None:
    ffi.from_handle(baton).close_edit()


class Svndiff:
    """Takes a text's windows, and gives each to the writer encoded: libsvn's encoder writes into
    memory, as it does so in a few small pieces. Holds: a window.
    """

    __slots__ = ("_baton", "_encode", "_encoded", "_writer", "handle")

    def __init__(self, writer: SvndiffWriter, pool: Any) -> None:
        handler, baton = ffi.new("svn_txdelta_window_handler_t *"), ffi.new("void **")
        self._writer = writer
        self._encoded = lib.svn_stringbuf_create_empty(pool)
        stream = lib.svn_stream_from_stringbuf(self._encoded, pool)
        lib.svn_txdelta_to_svndiff3(handler, baton, stream, writer.version, writer.level, pool)
        self._encode, self._baton = handler[0], baton[0]
        self.handle = ffi.new_handle(self)

    def take(self, window: Any) -> None:
        """NULL is the end."""
        check(self._encode(window, self._baton))
        encoded = self._encoded
        if encoded.len:
            self._writer.write(ffi.buffer(encoded.data, encoded.len)[:])
            encoded.len = 0
        if not window:
            self._writer.close()


@callback("svn_error_t *(svn_txdelta_window_t *, void *)")
def _window(window: Any, baton: Any) -> None:
    ffi.from_handle(baton).take(window)


def write_svndiff_to(writer: SvndiffWriter, pool: Any, handler: Any, handler_baton: Any) -> object:
    """Sets a window handler that writes svndiff. What it gives must be kept until the end."""
    found = Svndiff(writer, pool)
    handler[0], handler_baton[0] = _window(), found.handle
    return found


def make_editor(pool: Pool) -> Any:
    editor = lib.svn_delta_default_editor(pool.handle)
    editor.set_target_revision = _set_target_revision()
    editor.open_root = _open_root()
    editor.delete_entry = _delete_entry()
    editor.add_directory = _add_dir()
    editor.open_directory = _open_dir()
    editor.change_dir_prop = _change_prop()
    editor.close_directory = _close_dir()
    editor.absent_directory = _absent_dir()
    editor.add_file = _add_file()
    editor.open_file = _open_file()
    editor.apply_textdelta = _apply_textdelta()
    editor.change_file_prop = _change_prop()
    editor.close_file = _close_file()
    editor.absent_file = _absent_file()
    editor.close_edit = _close_edit()
    editor.apply_textdelta_stream = ffi.NULL
    return editor
