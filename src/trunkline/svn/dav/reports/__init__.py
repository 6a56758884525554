"""REPORT requests, one module each kind."""
