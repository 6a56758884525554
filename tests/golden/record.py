"""`python -m tests.golden.record`: replies of the stock server, for test_golden_replies.py.

Recorded from Mercurial 7.2.4, to be recorded again only on purpose: the file is worth something
because it does not follow the Mercurial that is installed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.compat.rawhttp import request
from tests.compat.serving import serving
from tests.compat.sources import seed

RECORDED = Path(__file__).with_name("replies.json")

NODE, NULL = "e93700bd72895c5addab234c56d4024b487a362f", "0" * 40
BUNDLE2 = quote(
    "HG20,bundle2=" + quote("HG20\nbookmarks\nchangegroup=01,02\nlistkeys\nphases=heads")
)
GETBUNDLE = f"getbundle&common={NULL}&heads={NODE}"
BATCH = quote(f"heads ;known nodes={NODE},{NULL};lookup key=tip".replace(",", " "))
QUERIES = (
    "heads",
    f"known&nodes={NODE}+{'1' * 40}+{NULL}",
    "lookup&key=tip",
    "lookup&key=e93700",
    "lookup&key=no-such",
    "branchmap",
    f"branches&nodes={NODE}",
    f"between&pairs={NODE}-{NULL}",
    "listkeys&namespace=namespaces",
    "listkeys&namespace=phases",
    "listkeys&namespace=bookmarks",
    "listkeys&namespace=no-such",
    f"batch&cmds={BATCH}",
    "debugwireargs&one=1&two=2&three=3",
    GETBUNDLE,
    f"{GETBUNDLE}&bundlecaps={BUNDLE2}&cg=1&phases=1&bookmarks=1&listkeys=phases,bookmarks",
    f"changegroup&roots={NULL}",
    f"changegroupsubset&bases={NULL}&heads={NODE}",
)


def ask(address: str, query: str) -> dict[str, str | int]:
    """The part of a reply that a client looks at; a body of bytes in hex."""
    reply = request(address, f"/?cmd={query}", {"X-HgProto-1": "0.1 0.2 comp=none"})
    return {
        "status": reply.status,
        "content-type": reply.header("content-type") or "",
        "body": reply.body.hex(),
    }


# `none` is packed by no library, so the bytes don't depend on a version of one.
OPTIONS = ("--config", "server.compressionengines=none")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "seed"
        seed(repository, lambda name: Path(folder) / name)
        with serving(repository, Path(folder) / "server", *OPTIONS, stock=True) as server:
            replies = {query: ask(server.address, query) for query in QUERIES}
    RECORDED.write_text(json.dumps(replies, indent=1) + "\n")


if __name__ == "__main__":
    main()
