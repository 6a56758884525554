"""One revision as an editor's drive."""

from __future__ import annotations

from trunkline.svn.repository.editor import Editor, make_editor
from trunkline.svn.repository.library import Pool, check, lib
from trunkline.svn.repository.session import Session


def replay(
    session: Session, revision: int, base: bytes, low: int, with_deltas: bool, editor: Editor
) -> None:
    """`base` is the folder that is replayed; what is older than `low` is sent whole."""
    with Pool(session.pool) as pool:
        own = make_editor(pool)
        baton = pool.baton(editor)
        editor.set_target_revision(revision)
        check(
            lib.svn_repos_replay2(
                session.root(revision),
                base.strip(b"/"),
                low,
                int(with_deltas),
                own,
                baton,
                *session.authz(),
                pool.handle,
            )
        )
