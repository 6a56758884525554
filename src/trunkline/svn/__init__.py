"""Subversion: repositories through libsvn, and HTTP (DAV) for stock clients."""
