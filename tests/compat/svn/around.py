"""One repository three times: on a stock Apache asked directly, and, through one gateway, on
another stock Apache and on Trunkline. All want a login; `svn` in a command is alice, or who `$W`
says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from itertools import count
from pathlib import Path

import bcrypt
from tests.compat.serving import serving
from tests.compat.svn import apache
from tests.compat.svn.client import Said, Site
from tests.compat.svn.gateway import Running, gateway
from tests.compat.svn.repository import make_repository

KINDS = ("apache", "trunkline")
USERS = {"alice": b"sec ret", "bob": b"other"}
NUMBERS = count()
LOGIN = """\
AuthType Basic
  AuthName "Our code"
  AuthBasicProvider file
  AuthUserFile {folder}/htpasswd
  Require valid-user
"""
SETTINGS = """\
[subversion]
transactions = "{folder}/state"
[auth]
password_file = "{folder}/htpasswd"
[[access]]
write = ["alice", "bob"]
"""
AS_USER = """\
svn() { as_user svn "$@"; }; svnmucc() { as_user svnmucc "$@"; }
as_user() {
  local program=$1; shift
  case ${W:-alice} in alice) secret='sec ret';; bob) secret=other;; *) secret=wrong;; esac
  command $program "$@" --non-interactive --no-auth-cache --username ${W:-alice} \
    --password "$secret"
}
"""
# What a client says of its working copy at the request that failed, which through a gateway was
# answered well; the error itself comes at the end.
AT_THE_FILE = re.compile(
    r"^svn(mucc)?: (E155011: |E195022: |E\d+: (While preparing |Commit failed \(details follow))"
)
PROGRESS = re.compile(r"^(Adding|Sending|Deleting|Replacing|Transmitting) |^Committing transaction")
TXN_URL = re.compile(r"'(/svn)?/r\d+/!svn/v?txr/[^/']+")
ERROR = re.compile(r"^svn(?:mucc)?: (E\d+): ")
QUOTED = re.compile(r"'([^']*)'")
# What a bare 423 is to a client, where Trunkline knows better who has the lock.
SAME_CODES = {"E160039": "E160038"}


class LoggedIn(Site):
    def run(self, command: str, expect_ok: bool = False) -> Said:
        return super().run(AS_USER + command, expect_ok)


@dataclass(frozen=True)
class Around:
    direct: LoggedIn
    through: dict[str, LoggedIn]

    def same(self, *commands: str) -> None:
        """Each has the same outcome everywhere, and says the same but for what comes too late."""
        sites = [self.direct, *self.through.values()]
        with ThreadPoolExecutor(len(sites)) as pool:
            for command in commands:
                first, *others = map(tidy, pool.map(LoggedIn.run, sites, [command] * len(sites)))
                for kind, said in zip(self.through, others, strict=True):
                    lines = "\n".join(unified_diff(first.lines, said.lines, "direct", kind, n=0))
                    assert said == first, f"{command}\n{lines}\n{first.status} {said.status}"

    def wrote(self) -> None:
        """What was written is sound and the same; no transaction is left."""
        for kind, site in self.through.items():
            site.verify()
            assert site.dump() == self.direct.dump(), kind
            assert transactions(site) == [], kind


def tidy(said: Said) -> Said:
    """Progress is told of before the answer is known: it doesn't count where that was an error. Of
    an error about a path its last name and the code count; the words are a server's own.
    """
    if not said.status:
        return said
    kept = []
    for line in said.lines:
        if AT_THE_FILE.match(line) or PROGRESS.match(line):
            continue
        error, words = ERROR.match(line), QUOTED.findall(TXN_URL.sub("'", line))
        if error and words:
            path = next((word for word in words if "/" in word), words[0])
            line = f"{SAME_CODES.get(error[1], error[1])} {path.rpartition('/')[2]}"
        kept.append(line)
    return Said(said.status, sorted(kept))


def transactions(site: Site) -> list[str]:
    """Of the repository, and Trunkline's of before it."""
    uuid = (site.disk / "db" / "uuid").read_text().split()[0]
    own = (site.disk.parent.parent / "state").glob(f"{uuid}-*/*-*")
    return [*os.listdir(site.disk / "db" / "transactions"), *map(str, own)]


@dataclass(frozen=True)
class Yard:
    """Three servers and the gateway. `roots` are the folders of their repositories."""

    urls: dict[str, str]
    roots: dict[str, Path]
    gateway: Running

    @contextmanager
    def around(self, folder: Path) -> Iterator[Around]:
        """An empty repository of each, with the same identity."""
        name = f"r{next(NUMBERS)}"  # Apache remembers what was at a path
        first = self.roots["trunkline"] / name
        make_repository(first, ())
        sites: dict[str, LoggedIn] = {}
        for kind, root in self.roots.items():
            disk = root / name
            if disk != first:
                shutil.copytree(first, disk)
                own(disk)
            sites[kind] = LoggedIn(f"{self.urls[kind]}/{name}", disk, folder / kind)
            if kind != "direct":
                use_proxy(sites[kind], self.gateway.port)
        yield Around(sites.pop("direct"), sites)
        for root in self.roots.values():
            shutil.rmtree(root / name)


def own(disk: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", apache.ACCOUNT, str(disk)], check=True)


def use_proxy(site: Site, port: int) -> None:
    """All that is run there goes through the gateway."""
    (site.folder / ".subversion").mkdir(exist_ok=True)
    lines = ("[global]", "http-proxy-host = 127.0.0.1", f"http-proxy-port = {port}")
    (site.folder / ".subversion" / "servers").write_text("\n".join(lines) + "\n")


@contextmanager
def yard() -> Iterator[Yard]:
    folder = Path(tempfile.mkdtemp(prefix="trunkline-gateway-"))  # Apache's account can enter it
    folder.chmod(0o755)
    hashes = {user: bcrypt.hashpw(word, bcrypt.gensalt(4)).decode() for user, word in USERS.items()}
    (folder / "htpasswd").write_text("".join(f"{user}:{text}\n" for user, text in hashes.items()))
    (folder / "settings.toml").write_text(SETTINGS.format(folder=folder))
    roots = {kind: folder / kind for kind in ("direct", *KINDS)}
    urls = {}
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for kind, root in roots.items():
            root.mkdir()
            if kind == "trunkline":
                options = ("--settings", str(folder / "settings.toml"), "--workers", "2")
                urls[kind] = stack.enter_context(serving(root, folder / "server", *options)).url
            else:
                (folder / f"httpd-{kind}").mkdir()
                more = LOGIN.format(folder=folder)
                urls[kind] = stack.enter_context(
                    apache.apache(root, folder / f"httpd-{kind}", more)
                )
        upstreams = [urls[kind].removesuffix("/svn") for kind in KINDS]
        running = stack.enter_context(gateway(*upstreams))
        yield Yard(urls, roots, running)
