"""Fixtures: a stock Apache and Trunkline, each with the same repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.compat.serving import serving
from tests.compat.svn import apache
from tests.compat.svn.around import Yard, yard
from tests.compat.svn.client import Pair, Site
from tests.compat.svn.repository import make_repository

# For everybody, since nobody logs in.
RULES = """
[groups]
staff = alice, bob
[/]
* = rw
[r:/secret]
* =
[r:/trunk/hidden]
* =
@staff = rw
[r:/trunk/readonly]
* = r
[:glob:r:/**/*.key]
* =
"""
STYLESHEET = "/svnindex.xsl"  # where folders are XML
WITHOUT_APACHE = "TRUNKLINE_WITHOUT_APACHE"
Make = Callable[..., Pair]


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    """What is missing is a failure, unless asked to do without."""
    if shutil.which("svn") and shutil.which("svnadmin") and apache.is_there():
        return
    if os.environ.get(WITHOUT_APACHE):
        pytest.skip(f"{WITHOUT_APACHE} is set: no svn, or no Apache with mod_dav_svn")
    pytest.fail("no svn, or no Apache with mod_dav_svn: run scripts/subversion-tools")


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], tuple[str, str, Path]]]:
    """By "v2", "v1" (folders are XML, too) or "paths" (with rules for them): the stock one's URL,
    ours, and the folder of both's repositories.

    In a folder that Apache's own account can enter, which pytest's can't be.
    """
    root = Path(tempfile.mkdtemp(prefix="trunkline-svn-"))
    root.chmod(0o755)
    running: dict[str, tuple[str, str, Path]] = {}
    with ExitStack() as stack:

        def start(version: str) -> tuple[str, str, Path]:
            if version not in running:
                running[version] = start_servers(stack, root / version, version)
            return running[version]

        yield start
    shutil.rmtree(root, ignore_errors=True)


def start_servers(stack: ExitStack, folder: Path, version: str) -> tuple[str, str, Path]:
    for name in ("stock", "ours", "apache", "state"):
        (folder / name).mkdir(parents=True)
    more = ""
    lines = [
        'allow_write = "anonymous"',
        "[subversion]",
        f'transactions = "{folder}/state"',
        f"http_v2 = {str(version != 'v1').lower()}",
    ]
    if version == "v1":
        more = f"SVNAdvertiseV2Protocol off\nSVNIndexXSLT {STYLESHEET}"
        lines.append(f'index_stylesheet = "{STYLESHEET}"')
    if version == "paths":
        (folder / "authz").write_text(RULES)
        more = f"AuthzSVNAccessFile {folder}/authz"
        lines.append(f'access_file = "{folder}/authz"')
    stock = stack.enter_context(apache.apache(folder / "stock", folder / "apache", more))
    settings = folder / "settings.toml"
    settings.write_text("\n".join(lines))
    options = ("--settings", str(settings), "--workers", "2")
    ours = stack.enter_context(serving(folder / "ours", folder / "server", *options))
    return stock, ours.url, folder


@pytest.fixture
def pair(servers: Callable[[str], tuple[str, str, Path]], tmp_path: Path) -> Iterator[Make]:
    """`pair(version, *options of svnadmin create)`: empty repositories with the same identity."""
    made: list[Path] = []

    def make(version: str = "v2", *options: str) -> Pair:
        stock, ours, folder = servers(version)
        at_stock, at_ours = folder / "stock" / "r", folder / "ours" / "r"
        make_repository(at_ours, options)
        shutil.copytree(at_ours, at_stock)
        made.extend((at_stock, at_ours))
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", apache.ACCOUNT, str(at_stock)], check=True)
        return Pair(
            Site(f"{stock}/r", at_stock, tmp_path / "stock"),
            Site(f"{ours}/r", at_ours, tmp_path / "ours"),
        )

    yield make
    for path in made:
        shutil.rmtree(path)


@pytest.fixture(scope="session")
def gateway_yard() -> Iterator[Yard]:
    with yard() as made:
        yield made
