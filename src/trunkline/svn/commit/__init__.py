"""A whole commit as one stream of bytes. The format: docs/commit-stream.md."""
