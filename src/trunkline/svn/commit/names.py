"""Names on the wire. Specified in docs/commit-stream.md."""

from __future__ import annotations

POST_NAME = b"trunkline-commit-1"  # in SVN-Supported-Posts
MEDIA_TYPE = b"application/vnd.trunkline.commit-1"
MAGIC = b"trunkline-commit 1\n"

PATH_HEADER = b"trunkline-commit-path"
OPERATION_HEADER = b"trunkline-commit-operation"
OUTCOME_HEADER = b"trunkline-commit-outcome"
