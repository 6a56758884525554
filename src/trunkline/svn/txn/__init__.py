"""A commit while it is put together, on disk and outside of the repository."""
