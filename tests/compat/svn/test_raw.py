"""Requests that no `svn` makes: status and the headers that matter are a stock Apache's."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest
from tests.compat.svn.client import Pair, Site
from tests.compat.svn.conftest import Make

HEADERS = ("ETag", "Cache-Control", "Content-Type", "Location")
PROPS = b'<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/></prop></propfind>'

READS = [
    ("GET", "/trunk/f", {}),
    ("HEAD", "/trunk/f", {}),
    ("GET", "/trunk/f?p=1", {}),
    ("GET", "/trunk/f?r=1", {}),
    ("GET", "/trunk/f?p=2&r=1", {}),
    ("GET", "/trunk/f?p=1&r=2", {}),
    ("GET", "/trunk/f?p=99", {}),
    ("GET", "/trunk/g?p=3&r=1", {}),
    ("GET", "/trunk/none", {}),
    ("GET", "/trunk", {}),
    ("HEAD", "/trunk/", {}),
    ("GET", "/!svn/rvr/1/trunk/f", {}),
    ("GET", "/!svn/ver/1/trunk/f", {}),
    ("GET", "/!svn/bc/2/trunk/f", {}),
    ("GET", "/!svn/rvr/99/trunk/f", {}),
    ("GET", "/!svn/none", {}),
    ("PROPFIND", "/trunk/", {"Depth": "0"}),
    ("PROPFIND", "/trunk/f", {"Depth": "1"}),
    ("PROPFIND", "/trunk/none", {"Depth": "0"}),
    ("PROPFIND", "/!svn/rev/1", {"Depth": "0"}),
    ("PROPFIND", "/!svn/rev/99", {"Depth": "0"}),
    ("PROPFIND", "/!svn/vcc/default", {"Depth": "0"}),
]


def ask(site: Site, method: str, path: str, headers: dict[str, str]) -> dict[str, object]:
    parts = urlsplit(site.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    body = PROPS if method == "PROPFIND" else None
    connection.request(method, parts.path + path, body=body, headers=headers)
    got = connection.getresponse()
    data = got.read()
    connection.close()
    found: dict[str, object] = {"status": got.status}
    if got.status < 300:
        for name in HEADERS:
            value = got.getheader(name)
            found[name] = value if value is None else value.lower().replace(parts.path, "")
        found["length"] = len(data) if method == "GET" and not path.endswith("/") else None
    elif got.status < 400:
        location = urlsplit(got.getheader("Location") or "")
        found["to"] = (location.path.removeprefix(parts.path), location.query)
    return found


@pytest.fixture
def both(pair: Make) -> Pair:
    made = pair("v2")
    made.same(
        "svn checkout -q $U wc && cd wc && mkdir trunk && echo one >trunk/f && svn add -q trunk"
        " && svn commit -q -m 1 && echo two >>trunk/f && svn commit -q -m 2"
        " && svn move -q trunk/f trunk/g && echo new >trunk/f && svn add -q trunk/f"
        " && svn propset -q svn:mime-type text/x-own trunk/f && svn commit -q -m 3"
    )
    return made


def test_reads(both: Pair) -> None:
    different = [
        (method, path, headers, theirs, ours)
        for method, path, headers in READS
        if (theirs := ask(both.stock, method, path, headers))
        != (ours := ask(both.ours, method, path, headers))
    ]
    assert different == [], "\n".join(map(str, different))


def test_writes_where_nothing_can_be_written_leave_no_trace(both: Pair) -> None:
    for method in ("PUT", "MKCOL", "DELETE", "COPY", "MOVE", "PROPPATCH", "POST", "MERGE"):
        for path in ("/trunk/f", "/!svn/rvr/1/trunk/f", "/!svn/txr/none/x", "/!svn/rev/1"):
            assert ask(both.ours, method, path, {})["status"] in (400, 403, 404, 405, 415), path
    both.wrote()
