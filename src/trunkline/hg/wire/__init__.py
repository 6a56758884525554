"""Mercurial's HTTP protocol, version 1: a request value in, an answer value out. No sockets.

`answer.py` is the way in; `table.py` has every command on one screen.
"""
