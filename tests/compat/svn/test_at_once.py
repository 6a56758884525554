"""Several clients, several workers, several connections: each commit stands or is refused whole."""

from __future__ import annotations

import http.client
import subprocess
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from tests.compat.svn.client import Site
from tests.compat.svn.conftest import Make

FILES = 40
CLIENTS = 6


def request(
    site: Site, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(site.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, parts.path + path, body=body, headers=named)
    got = connection.getresponse()
    data = got.read()
    connection.close()
    return got.status, {name.lower(): value for name, value in got.getheaders()}, data


def test_puts_on_many_connections_make_one_commit(pair: Make) -> None:
    """Which a stock server can't take: its transaction has one writer at a time."""
    site = pair("v2").ours
    skel = b"(create-txn-with-props (svn:log 4 many))"
    kind = "application/vnd.svn-skel"
    _, headers, _ = request(site, "POST", "/!svn/me", skel, Content_Type=kind)
    txn = headers["svn-txn-name"]

    def put(number: int) -> int:
        return request(site, "PUT", f"/!svn/txr/{txn}/f{number}", b"%d\n" % number)[0]

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(put, range(FILES))) == {201}
    source = f"<D:source><D:href>{urlsplit(site.url).path}/!svn/txn/{txn}</D:href></D:source>"
    merge = f'<D:merge xmlns:D="DAV:">{source}</D:merge>'.encode()
    assert request(site, "MERGE", "/", merge)[0] == 200
    site.verify()
    listed = site.run("svn ls $U && svn cat $U/f39", expect_ok=True)
    assert len(listed.lines) == FILES + 1


def test_clients_at_once(pair: Make) -> None:
    """Each commits its own files ten times; all of it is there."""
    site = pair("v2").ours

    def work(number: int) -> None:
        script = (
            f"svn checkout -q $U w{number} && cd w{number} && mkdir d{number}"
            f" && svn add -q d{number} && for i in 1 2 3 4 5 6 7 8 9 10; do"
            f" echo $i >d{number}/f$i && svn add -q d{number}/f$i && svn commit -q -m $i || exit 1;"
            " done"
        )
        site.run(script, expect_ok=True)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(work, range(CLIENTS)))
    site.verify()
    command = ["svnlook", "youngest", str(site.disk)]
    assert int(subprocess.run(command, check=True, capture_output=True).stdout) == CLIENTS * 10
    files = site.run("svn ls -R $U | grep -c f", expect_ok=True)
    assert files.lines == [str(CLIENTS * 10)]


def test_a_client_that_breaks_off_leaves_no_revision(pair: Make) -> None:
    site = pair("v2").ours
    kind = "application/vnd.svn-skel"
    _, headers, _ = request(site, "POST", "/!svn/me", b"(create-txn)", Content_Type=kind)
    parts = urlsplit(site.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.putrequest("PUT", f"{parts.path}/!svn/txr/{headers['svn-txn-name']}/f")
    connection.putheader("Content-Length", "10000000")
    connection.endheaders()
    connection.send(b"x" * 1_000_000)
    connection.close()
    command = ["svnlook", "youngest", str(site.disk)]
    assert subprocess.run(command, check=True, capture_output=True).stdout == b"0\n"
    listed = ["svnadmin", "lstxns", str(site.disk)]
    assert subprocess.run(listed, check=True, capture_output=True).stdout == b""
    site.run("svn mkdir -q -m 'still well' $U/d", expect_ok=True)
    site.verify()
