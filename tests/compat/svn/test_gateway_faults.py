"""The gateway in front of an upstream that closes its connections, or is gone in mid-commit."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.compat.svn import apache
from tests.compat.svn.client import Site
from tests.compat.svn.gateway import Running, gateway, slow_link
from tests.compat.svn.repository import make_repository


@contextmanager
def far_site(tmp_path: Path, requests: int, more: str = "") -> Iterator[tuple[Site, Running, str]]:
    """A repository a slow link away, the link, and the options that name the gateway."""
    folder = Path(tempfile.mkdtemp(prefix="trunkline-gateway-"))
    folder.chmod(0o755)
    disk = folder / "repositories" / "r"
    disk.parent.mkdir()
    (folder / "apache").mkdir()
    make_repository(disk, ())
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        url = stack.enter_context(apache.apache(disk.parent, folder / "apache", more, requests))
        link = stack.enter_context(slow_link(int(url.split(":")[2].partition("/")[0]), 40))
        server = f"http://127.0.0.1:{link.port}"
        running = stack.enter_context(gateway(server))
        site = Site(f"{server}/svn/r", disk, tmp_path / "site")
        site.run(f"svn co -q $U wc {running.options}", expect_ok=True)
        yield site, link, running.options


def test_goes_on_where_the_upstream_closes_each_few_requests(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=5) as (site, _, options):
        site.run(
            "cd wc && for i in $(seq 23); do echo $i >f$i; done; svn add -q f* && "
            f"svn ci -qm 1 {options} && svn export -q $U ../out && diff -r -x .svn . ../out",
            expect_ok=True,
        )
        site.verify()
        assert os.listdir(site.disk / "db" / "transactions") == []


def test_says_so_when_the_upstream_is_gone(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, link, options):
        site.run("cd wc && echo 1 >a && svn add -q a && svn ci -qm 1 " + options, expect_ok=True)
        site.run("cd wc && head -c 60000000 /dev/urandom >b && svn add -q b", expect_ok=True)
        begun = subprocess.Popen(
            ["bash", "-c", f"svn ci -qm 2 {options}"],
            cwd=site.folder / "wc",
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(os.listdir(site.disk / "db" / "transactions")) == 0 and begun.poll() is None:
            time.sleep(0.01)
        link.process.kill()
        said = begun.communicate(timeout=60)[1]
        assert "svn: E175002: " in said
        assert begun.returncode == 1
        assert (site.disk / "db" / "current").read_text().split()[0] == "1"


def test_what_was_sent_twice_isnt_there_already(tmp_path: Path) -> None:
    """The link is cut while answers are on their way."""
    with far_site(tmp_path, requests=0) as (site, link, options):
        site.run(
            "cd wc && mkdir old && echo 1 >old/a && svn add -q old && svn ci -qm 1 " + options,
            expect_ok=True,
        )
        site.run(
            "cd wc && svn up -q && svn rm -q old && mkdir $(seq -f d%g 300) && echo 1 >old2"
            " && for i in $(seq 300); do echo $i >d$i/f; echo $i >f$i; done"
            " && svn add -q d* f* old2",
            expect_ok=True,
        )
        begun = subprocess.Popen(
            ["bash", "-c", f"svn ci -m many {options}"],
            cwd=site.folder / "wc",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        made = site.disk / "db" / "transactions"
        while len(list(made.rglob("*"))) < 200 and begun.poll() is None:
            time.sleep(0.005)
        link.cut()
        assert "Committed revision 2." in begun.communicate(timeout=60)[0]
        site.verify()
        site.run("svn export -q $U out && diff -r -x .svn wc out", expect_ok=True)
        assert os.listdir(made) == []


def test_a_file_that_was_there_is_still_told_of(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0) as (site, link, options):
        site.run("svn co -q $U b && cd b && touch f && svn add -q f && svn ci -qm 1 " + options)
        site.run("cd wc && for i in $(seq 400); do echo $i >g$i; done; echo 2 >f; svn add -q f g*")
        begun = subprocess.Popen(
            ["bash", "-c", f"svn ci -m many {options}"],
            cwd=site.folder / "wc",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        made = site.disk / "db" / "transactions"
        while len(list(made.rglob("*"))) < 100 and begun.poll() is None:
            time.sleep(0.005)
        link.cut()
        said = begun.communicate(timeout=60)[0]
        assert "svn: E160020: File '/f' already exists" in said
        assert os.listdir(made) == []


DEFLATE = """
</Location>
LoadModule filter_module modules/mod_filter.so
LoadModule deflate_module modules/mod_deflate.so
<Location /svn>
SetOutputFilter DEFLATE
"""


def test_reads_errors_of_an_upstream_that_compresses(tmp_path: Path) -> None:
    with far_site(tmp_path, requests=0, more=DEFLATE) as (site, _, options):
        site.run("cd wc && echo 1 >a && svn add -q a && svn ci -qm 1 " + options, expect_ok=True)
        site.run(f"svn co -q $U b && cd b && echo 2 >a && svn ci -qm 2 {options}", expect_ok=True)
        said = site.run("cd wc && echo 3 >a && svn ci -m 3 " + options)
        assert "svn: E170004: File '/a' is out of date" in said.lines, said
