"""What is measured of commits over a slow link. The runner and the report read these tables."""

from __future__ import annotations

from dataclasses import dataclass

DELAYS = (0, 50, 150)  # milliseconds, there and back
STOCK_IMPORT_FILES = 500  # and scaled: stock takes half an hour for all of them


@dataclass(frozen=True)
class Way:
    """`server`: "apache", "apache-unlimited" or "trunkline"."""

    name: str
    title: str
    server: str
    client: str  # "stock", "gateway" or "library"


WAYS = {
    way.name: way
    for way in (
        Way("stock-apache", "stock svn to Apache", "apache", "stock"),
        Way("stock-trunkline", "stock svn to Trunkline", "trunkline", "stock"),
        Way("gateway-apache", "svn, gateway, Apache", "apache", "gateway"),
        Way(
            "gateway-apache-unlimited",
            "svn, gateway, Apache with MaxKeepAliveRequests 0",
            "apache-unlimited",
            "gateway",
        ),
        Way("gateway-trunkline", "svn, gateway, Trunkline", "trunkline", "gateway"),
        Way("library", "parallel PUTs to Trunkline", "trunkline", "library"),
    )
}


@dataclass(frozen=True)
class Case:
    """`files` are made anew, or changed in a working copy."""

    name: str
    title: str
    files: int
    is_import: bool


CASES = {
    case.name: case
    for case in (
        Case("import", "importing 10,000 files", 10_000, True),
        Case("commit-25", "committing 25 files", 25, False),
        Case("commit-2", "committing 2 files", 2, False),
    )
}

# Seconds: stock, and with its proof of concept. Source: dev@subversion.apache.org, "Re: Merging
# parallel-put to /trunk", by E. Kotkov; another machine, and real distances.
SEED = {
    ("import", 150): (1887.582, 46.363),
    ("import", 50): (660.897, 35.267),
    ("commit-25", 150): (9.198, 1.739),
    ("commit-25", 50): (3.357, 0.714),
    ("commit-2", 150): (1.102, 0.787),
    ("commit-2", 50): (0.589, 0.406),
}

# Seconds at most, at 150 ms. At 0 ms: as long as stock to stock.
BOUNDS = {
    ("import", "gateway-trunkline"): 12.0,
    ("import", "gateway-apache"): 15.0,
    ("import", "gateway-apache-unlimited"): 15.0,
    **{
        (case, way): most
        for case, most in (("commit-25", 1.0), ("commit-2", 0.75))
        for way in ("gateway-trunkline", "gateway-apache", "gateway-apache-unlimited")
    },
}
BOUNDS_AT = 150


def round_name(case: str, delay: int) -> str:
    return f"{case}-{delay}ms"
