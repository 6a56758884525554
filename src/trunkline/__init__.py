"""Trunkline: one fast HTTP door for Mercurial and Subversion repositories."""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`: what looks it up takes longer to import than `trunkline svn` may."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version(__name__)
