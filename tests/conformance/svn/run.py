"""Subversion's own command-line suite, against a stock Apache and then against Trunkline.

Prints what docs/conformance-svn.md tells. As root, since Apache runs in an account of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.compat.svn.apache import ACCOUNT, free_port, wait_for

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache" / "conformance-svn"
SUITES = [
    "basic",
    "commit",
    "copy",
    "update",
    "switch",
    "prop",
    "lock",
    "log",
    "blame",
    "diff",
    "merge",
    "dav",
    "mod_dav_svn",
    "svnsync",
    "authz",
]
HELPERS = {"entries-dump": "svn_wc-1", "atomic-ra-revprop-change": "svn_ra-1"}
STUB = "#define _(x) (x)\n#define N_(x) x\n#define Q_(a, b, n) ((n) == 1 ? (a) : (b))\n"
USERS = ("jrandom", "jconstant", "__dumpster__", "JRANDOM", "JCONSTANT")
PASSWORDS = {"__dumpster__": "__loadster__"}
LINE = re.compile(r"^(PASS|FAIL|XFAIL|XPASS|SKIP): +\S+ (\d+): (.*)$", re.MULTILINE)

APACHE = """
ServerRoot /usr/lib/apache2
ServerName localhost
PidFile {folder}/httpd.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
User {account}
Group {account}
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule dav_module modules/mod_dav.so
LoadModule dav_svn_module modules/mod_dav_svn.so
LoadModule authz_svn_module modules/mod_authz_svn.so
Mutex file:{folder} default
MaxKeepAliveRequests 0
"""
LOCATION = """
<Location /svn-test-work/{name}>
  DAV svn
  {what} {work}/svn-test-work/{name}
  AuthzSVNAccessFile {work}/svn-test-work/authz
  AuthType Basic
  AuthName "Subversion Repository"
  AuthUserFile {folder}/users
  Require valid-user
  {more}
</Location>
"""
PLACES = (
    ("repositories", "SVNParentPath"),
    ("local_tmp/repos", "SVNPath"),
    ("local_tmp/trojan", "SVNPath"),
)


def source(given: str | None) -> Path:
    """The folder of the source release. Raises: SystemExit."""
    if given:
        return Path(given)
    found = sorted(CACHE.glob("subversion-*/"))
    if not found:
        CACHE.mkdir(parents=True, exist_ok=True)
        got = subprocess.run(["apt-get", "source", "-q", "subversion"], cwd=CACHE, check=False)
        found = sorted(CACHE.glob("subversion-*/"))
        if got.returncode or not found:
            raise SystemExit("name it with --source, or add a deb-src line to apt's sources")
    return found[0]


def workplace(name: str, tree: Path) -> Path:
    """Where a side's suite runs: its helpers are looked for beside it."""
    work = CACHE / name / "subversion" / "tests" / "cmdline"
    shutil.rmtree(CACHE / name, ignore_errors=True)
    work.mkdir(parents=True)
    (CACHE / name / "tests").symlink_to("subversion/tests")
    include = CACHE / "include"
    include.mkdir(exist_ok=True)
    (include / "svn_private_config.h").write_text(STUB)
    flags = ["apr-1-config", "--includes", "--cppflags"]
    apr = subprocess.run(flags, check=True, capture_output=True, text=True).stdout.split()
    for helper, library in HELPERS.items():
        base = tree / "subversion"
        command = ["gcc", "-w", "-D_GNU_SOURCE", "-o", str(work / helper)]
        command += [str(base / "tests" / "cmdline" / f"{helper}.c"), f"-I{include}"]
        command += [f"-I{base}/include", f"-I{base}", *apr]
        subprocess.run([*command, f"-l{library}", "-lsvn_subr-1", "-lapr-1"], check=True)
    return work


@contextmanager
def stock(work: Path, more: str) -> Iterator[str]:
    port, folder = free_port(), work.parents[2]
    text = APACHE.format(folder=folder, port=port, account=ACCOUNT)
    for name, what in PLACES:
        text += LOCATION.format(name=name, what=what, work=work, folder=folder, more=more)
    (folder / "httpd.conf").write_text(text)
    lines = []
    for user in USERS:
        command = ["openssl", "passwd", "-apr1", PASSWORDS.get(user, "rayjandom")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        lines.append(f"{user}:{done.stdout.strip()}")
    (folder / "users").write_text("\n".join(lines) + "\n")
    subprocess.run(["chown", "-R", ACCOUNT, str(folder)], check=True)
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    command = ["apache2", "-DFOREGROUND", "-f", str(folder / "httpd.conf")]
    yield from running(command, port, folder, environment, folder)


@contextmanager
def ours(work: Path, version: str) -> Iterator[str]:
    port = free_port()
    environment = {
        **os.environ,
        "TRUNKLINE_SUITE_PORT": str(port),
        "TRUNKLINE_SUITE_HTTP": version,
        "PYTHONPATH": f"{ROOT}:{ROOT}/src",
    }
    command = [sys.executable, "-m", "tests.conformance.svn.named"]
    yield from running(command, port, work, environment, work)


def running(
    command: list[str], port: int, folder: Path, environment: dict[str, str], log: Path
) -> Iterator[str]:
    with (log / "server.log").open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            wait_for(port, process, folder)
            time.sleep(1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=60)


def run_suite(tree: Path, work: Path, url: str, suite: str, is_stock: bool) -> dict[int, list[str]]:
    """Result and title of each test, by number."""
    script = tree / "subversion" / "tests" / "cmdline" / f"{suite}_tests.py"
    command = [sys.executable, str(script), f"--url={url}", "--bin=/usr/bin"]
    if is_stock:  # who makes the repositories must be who serves them
        command = [
            "setpriv",
            f"--reuid={ACCOUNT}",
            f"--regid={ACCOUNT}",
            "--clear-groups",
            *command,
        ]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(work)}
    with (work / f"{suite}.log").open("wb") as log:
        subprocess.run(
            command, cwd=work, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    text = (work / f"{suite}.log").read_text(errors="replace")
    return {int(number): [word, title] for word, number, title in LINE.findall(text)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", help="folder of Subversion's source")
    parser.add_argument("--http", choices=("v2", "v1"), default="v2")
    parser.add_argument("suites", nargs="*", default=SUITES)
    asked = parser.parse_args()
    tree = source(asked.source)
    at_stock, at_ours = workplace("stock", tree), workplace("ours", tree)
    more = "SVNAdvertiseV2Protocol off" if asked.http == "v1" else ""
    rows, different = [], []
    with stock(at_stock, more) as stock_url, ours(at_ours, asked.http) as our_url:
        for suite in asked.suites:
            theirs = run_suite(tree, at_stock, stock_url, suite, is_stock=True)
            mine = run_suite(tree, at_ours, our_url, suite, is_stock=False)
            row = f"| {suite}_tests | {count(theirs)} | {count(mine)} |"
            print(row, flush=True)
            rows.append(row)
            for number, (word, title) in sorted(theirs.items()):
                got = mine.get(number, ["none", title])[0]
                if word == "PASS" and got != "PASS":
                    different.append(f"- {suite}_tests {number}, {title}: {got}")
    head = "| suite | stock Apache: pass / fail | Trunkline: pass / fail |\n|---|---|---|\n"
    table = head + "\n".join(rows) + "\n\n" + "\n".join(different or ["No difference."]) + "\n"
    print(table)


def count(results: dict[int, list[str]]) -> str:
    words = [word for word, _ in results.values()]
    return f"{words.count('PASS')} / {words.count('FAIL')}"


if __name__ == "__main__":
    main()
