"""Trunkline: one fast HTTP door for Mercurial and Subversion repositories."""

from importlib.metadata import version

__version__ = version("trunkline")
