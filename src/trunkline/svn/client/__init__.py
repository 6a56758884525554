"""Commits from Python, by HTTP: `commit_files` and `files_below`. See docs/client-library.md."""

from trunkline.svn.client.commit import Committed, commit_files
from trunkline.svn.client.failed import CommitFailed
from trunkline.svn.client.file import File, files_below

__all__ = ["CommitFailed", "Committed", "File", "commit_files", "files_below"]
