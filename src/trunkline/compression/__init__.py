"""Compression engines for replies: one interface, found by entry point. See `engine.py`."""
