"""The difference between two texts as svndiff, and a text made of one."""

from __future__ import annotations

from trunkline.svn.repository.editor import SvndiffWriter, write_svndiff_to
from trunkline.svn.repository.library import Pool, check, ffi, lib
from trunkline.svn.repository.nodes import Node
from trunkline.svn.repository.session import Session


def send_delta(session: Session, source: Node | None, target: Node, writer: SvndiffWriter) -> None:
    """Without a source, the whole text. Raises: SvnError, and what the writer raises."""
    with Pool(session.pool) as pool:
        stream = ffi.new("svn_txdelta_stream_t **")
        check(
            lib.svn_fs_get_file_delta_stream(
                stream,
                source.root if source else ffi.NULL,
                source.path if source else ffi.NULL,
                target.root,
                target.path,
                pool.handle,
            )
        )
        handler = ffi.new("svn_txdelta_window_handler_t *")
        baton = ffi.new("void **")
        kept = write_svndiff_to(writer, pool.handle, handler, baton)
        check(lib.svn_txdelta_send_txstream(stream[0], handler[0], baton[0], pool.handle))
        del kept
