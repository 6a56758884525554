"""Made once, sent to many: files that readers follow while they grow. docs/notes/spool.md."""
