"""Stock `svn` through the gateway to a Trunkline: one POST for a commit, and the outcome of a
commit without a gateway.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import pytest
from tests.compat.serving import serving
from tests.compat.svn.client import Said, Site
from tests.compat.svn.gateway import Running, gateway, slow_link
from tests.compat.svn.repository import make_repository

SETTINGS = """\
[subversion]
transactions = "state"
access_file = "authz"
[auth]
password_file = "htpasswd"
[[access]]
write = ["alice", "bob"]
"""
AUTHZ = """\
[/]
* = rw
[/readonly]
* = r
[/closed]
* =
alice = r
bob = r
"""
ALICE = "--non-interactive --no-auth-cache --username alice --password one"
BOB = "--non-interactive --no-auth-cache --username bob --password two"
CODE = re.compile(r"\bE\d{6}\b")
# What `svn` says in front of an error that it is told of at the file, not at the end.
IN_FRONT = {"E155011", "E195022", "E195023"}
WAIT_SECONDS = 30
NO = "#!/bin/sh\necho 'not now <&> ü' >&2\nexit 1\n"

FILL = (
    "svn mkdir -q -m first file://$D/trunk file://$D/readonly && svn co -q $A $U/trunk wc"
    " && cd wc && mkdir -p d/e && echo one >a && : >empty && echo two >d/b"
    " && head -c 300000 /dev/zero >d/e/c"
    " && svn add -q a empty d && svn ps -q svn:eol-style native a && svn ci -qm filled $A"
    " && svn up -q $A"
)
# Each in a working copy `wc` of what `FILL` made.
GOOD = {
    "edit": "echo more >>a && svn ci -m 'ü <&>' $A",
    "nothing": "svn ci -m none $A",
    "empty": "svn ci -m 'nothing changed' --with-revprop x:y=z $A; svn mkdir -m 1 $A $U/trunk/x",
    "revprops": "echo more >>a && svn ci -m '' --with-revprop 'x:y=1 <&>' $A",
    "names": r"""touch 'a b' '%41' 'u\xcc\x88' 'a&b' "q'u" 'h#' 'q?' ü 'p+' '[x]' '~t' '@at@'"""
    " && svn add -q --no-auto-props [!ad]* 'a b' 'a&b'* @at@@; svn st; svn ci -m odd $A",
    "delete": "svn rm -q a d/e && svn ci -m gone $A",
    "move": "svn mv -q a moved && svn mv -q d/b d/e/b2 && svn ci -m moved $A",
    "copy": "svn cp -q a a2 && echo x >>a2 && svn cp -q d d2 && echo y >>d2/b && echo z >d2/new"
    " && svn add -q d2/new && svn rm -q d2/e/c && svn ci -m copied $A",
    "replace": "svn rm -q a d && echo new >a && mkdir d && echo new >d/b && svn add -q a d"
    " && svn ci -m replaced $A",
    "replace by a copy": "svn rm -q d/b && svn cp -q a d/b && echo more >>d/b && svn ci -m by $A",
    "props": "svn ps -q x 'v <&>' a d && printf 'a\\001' >../bin && svn ps -q bin -F ../bin a"
    " && svn ci -m set $A && svn pd -q x a d && svn ci -m removed $A",
    "urls": "svn cp -m 1 $A $U/trunk $U/b && svn mv -m 2 $A $U/b/a $U/b/z && svn rm -m 3 $A $U/b/d",
    "mucc": "svnmucc -m all $A mkdir $U/m put a $U/m/f cp 1 $U/trunk $U/m/t rm $U/trunk/empty"
    " propset k v $U/m mv $U/trunk/a $U/trunk/a9 put d/b $U/trunk/a9",
    "import": "mkdir -p ../i/j && echo 1 >../i/j/k && svn import -m in $A ../i $U/imported",
    "locked": "svn lock -q $A a && echo more >>a && svn ci -m unlocks $A && svn info $A $U/trunk/a",
    "kept": "svn lock -q $A a && echo more >>a && svn ci --no-unlock -m k $A && svn st -u $A",
    "locked below": "svn lock -q $A d/b d/e/c && svn rm -q d && svn ci -m gone $A",
    "locked, not sent": "svn lock -q $A a && echo x >>d/b && svn ci -m unlocks $A && svn st -u $A",
}
OTHER = "svn co -q $A $U/trunk ../other && cd ../other && "
BAD = {
    "there already": OTHER + "echo 1 >n && svn add -q n && svn ci -qm n $A; cd ../wc;"
    " echo 2 >n && svn add -q n && svn ci -m n $A",
    "folder there already": "svn mkdir -q -m 1 $A $U/trunk/n; mkdir n; svn add -q n;"
    " svn ci -m 1 $A",
    "out of date": OTHER + "echo 1 >>a && svn ci -qm 1 $A; cd ../wc; echo 2 >>a; svn ci -m 2 $A",
    "deleted": "svn rm -q -m 1 $A $U/trunk/a; echo 2 >>a; svn ci -m 2 $A",
    "props out of date": OTHER + "svn ps -q x 1 a && svn ci -qm 1 $A; cd ../wc; svn ps -q x 2 a;"
    " svn ci -m 2 $A",
    "folder out of date": OTHER + "svn ps -q x 1 d && svn ci -qm 1 $A; cd ../wc; svn ps -q x 2 d;"
    " svn ci -m 2 $A",
    "delete out of date": OTHER + "echo 1 >>d/b && svn ci -qm 1 $A; cd ../wc; svn rm -q d/b;"
    " svn ci -m 2 $A",
    "locked by another": "svn lock -q $B $U/trunk/a; echo 1 >>a; svn ci -m 1 $A",
    "delete of locked": "svn lock -q $B $U/trunk/d/b; svn rm -q d; svn ci -m 1 $A",
    "forbidden": "svn mkdir -m 1 $A $U/readonly/x",
    "forbidden file": "svn co -q $A $U/readonly ../r && cd ../r && echo 1 >x && svn add -q x &&"
    " svn ci -m 1 $A",
    "no such source": "svn cp -m 1 $A $U/trunk/none $U/x; svn cp -r1 -m 1 $A $U/trunk/a $U/x",
    "wrong password": "svn mkdir -m 1 $U/x --non-interactive --no-auth-cache --username alice"
    " --password wrong",
    "nobody": "svn mkdir -m 1 $U/x --non-interactive --no-auth-cache",
    "start-commit": 'printf %s "$NO" >$D/hooks/start-commit; chmod +x $D/hooks/start-commit;'
    " svn mkdir -m 1 $A $U/x",
    "pre-commit": 'printf %s "$NO" >$D/hooks/pre-commit; chmod +x $D/hooks/pre-commit;'
    " echo 1 >>a; svn ci -m 1 $A",
    "post-commit": 'printf %s "$NO" >$D/hooks/post-commit; chmod +x $D/hooks/post-commit;'
    " echo 1 >>a; svn ci -m 1 $A",
}


@dataclass(frozen=True)
class Servers:
    url: str
    folder: Path
    options: str  # of `svn`, to go through the gateway
    log: Callable[[], str]


def serve(folder: Path) -> tuple[str, ...]:
    (folder / "repos").mkdir()
    hashed = {
        user: bcrypt.hashpw(word, bcrypt.gensalt(4)).decode()
        for user, word in (("alice", b"one"), ("bob", b"two"))
    }
    (folder / "htpasswd").write_text("".join(f"{user}:{text}\n" for user, text in hashed.items()))
    (folder / "authz").write_text(AUTHZ)
    (folder / "s.toml").write_text(SETTINGS)
    return "--settings", str(folder / "s.toml"), "--workers", "2"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("streamed")
    options = serve(folder)
    with (
        serving(folder / "repos", folder / "server", *options) as running,
        gateway(running.url) as near,
    ):
        yield Servers(running.url, folder, near.options, running.log)


class Here(Site):
    """`$A` and `$B` are the options of alice and bob, with those of a gateway."""

    def __init__(self, servers: Servers, folder: Path, options: str) -> None:
        name = f"r{time.monotonic_ns()}"
        disk = servers.folder / "repos" / name
        make_repository(disk, ())
        super().__init__(f"{servers.url}/{name}", disk, folder)
        self.name = name
        self.head = f"A='{ALICE} {options}' B='{BOB} {options}' D='{disk}' NO=\"{NO}\"; "
        self.run(FILL, expect_ok=True)

    def run(self, command: str, expect_ok: bool = False) -> Said:
        return super().run(self.head + command, expect_ok)

    def quiet(self, text: str) -> str:
        return super().quiet(text.replace(self.name, "r"))

    def transactions(self) -> list[str]:
        return os.listdir(self.disk / "db" / "transactions")


@pytest.fixture
def both(servers: Servers, tmp_path: Path) -> tuple[Here, Here]:
    """Straight, and through the gateway."""
    return Here(servers, tmp_path / "1", ""), Here(servers, tmp_path / "2", servers.options)


def same_state(straight: Here, through: Here) -> None:
    through.verify()
    assert through.dump() == straight.dump()
    assert through.transactions() == []


@pytest.mark.parametrize("name", GOOD)
def test_what_goes_well_says_the_same(both: tuple[Here, Here], name: str) -> None:
    straight, through = (site.run("cd wc; " + GOOD[name]) for site in both)
    assert through == straight
    same_state(*both)
    for site in both:
        assert not any(" C " in line for line in site.run("svn up $A wc").lines)


@pytest.mark.parametrize("name", BAD)
def test_what_fails_has_the_same_code(both: tuple[Here, Here], name: str) -> None:
    straight, through = (site.run("cd wc; " + BAD[name]) for site in both)
    assert through.status == straight.status, through
    codes = [set(CODE.findall("\n".join(said.lines))) for said in (straight, through)]
    assert codes[0] - IN_FRONT == codes[1] - IN_FRONT, (straight, through)
    assert name == "post-commit" or codes[1]
    same_state(*both)


def test_a_commit_is_one_post(servers: Servers, tmp_path: Path) -> None:
    site = Here(servers, tmp_path / "site", servers.options)
    site.run("cd wc && for i in $(seq 30); do echo $i >f$i; done; svn add -q f* && svn ci -qm 1 $A")
    said = [line for line in servers.log().splitlines() if f"/{site.name}/" in line]
    assert not any('"PUT ' in line or '"MERGE ' in line for line in said)
    posts = [line for line in said if "/!svn/me" in line and '"POST ' in line]
    assert len(posts) <= 6  # of two commits: "log in", a question, and the commit


@pytest.mark.parametrize(
    ("place", "found"), [("trunk", [4, 0, 0, 0]), ("closed", [4, 0, 4, 0])], ids=str
)
def test_texts_of_a_revision_are_sent_once_to_each_user(
    servers: Servers, tmp_path: Path, place: str, found: list[int]
) -> None:
    """Where nobody is asked who they are, they are all the same."""
    site = Here(servers, tmp_path / "site", servers.options)
    site.run("svn cp -qm closed file://$D/trunk file://$D/closed", expect_ok=True)
    bulk = "--config-option servers:global:http-bulk-updates=no"

    def gets(user: str) -> int:
        before = servers.log().count(f'"GET /{site.name}/')
        export = f"svn export -q {bulk} {user} $U/{place} out"
        site.run(f"{export} && diff -r -x .svn out wc && rm -r out", expect_ok=True)
        return servers.log().count(f'"GET /{site.name}/') - before

    assert [gets("$A"), gets("$A"), gets("$B"), gets("$B")] == found


@dataclass
class Far:
    site: Here
    cut: Callable[[], None]
    near: Running

    def begin(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                "bash",
                "-c",
                f"{self.site.head}export U={self.site.url} HOME={self.site.folder};"
                f" cd wc; {command}",
            ],
            cwd=self.site.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def revisions(self) -> int:
        return int((self.site.disk / "db" / "current").read_text().split()[0])

    def slow_hook(self, name: str) -> Path:
        """It leaves a mark, and takes a while."""
        hook = self.site.disk / "hooks" / name
        hook.write_text("#!/bin/sh\ntouch $1/mark\nsleep 2\n")
        hook.chmod(0o755)
        return self.site.disk / "mark"


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """Behind a link of 60 ms."""
    options = serve(tmp_path)
    with (
        serving(tmp_path / "repos", tmp_path / "server", *options) as running,
        slow_link(int(running.url.rpartition(":")[2]), 60) as link,
        gateway(f"http://127.0.0.1:{link.port}") as near,
    ):
        url = f"http://127.0.0.1:{link.port}"
        servers = Servers(url, tmp_path, near.options, running.log)
        yield Far(Here(servers, tmp_path / "site", near.options), link.cut, near)


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("hook", ["pre-commit", "post-commit"])
def test_asks_for_a_lost_answer_and_commits_once(far: Far, hook: str) -> None:
    mark = far.slow_hook(hook)
    begun = far.begin("echo more >>a; svn ci -m once $A")
    wait_for(mark.exists)
    far.cut()
    assert "Committed revision 3." in begun.communicate(timeout=60)[0]
    assert far.revisions() == 3
    far.site.verify()


def test_sends_again_what_was_cut_off_before_its_end(far: Far) -> None:
    begun = far.begin("head -c 60000000 /dev/urandom >big; svn add -q big; svn ci -m once $A")
    wait_for(lambda: far.site.transactions() != [])
    far.cut()
    assert "Committed revision 3." in begun.communicate(timeout=60)[0]
    far.site.verify()
    assert far.site.run("svn cat $A $U/trunk/big | cmp - wc/big").status == 0
    wait_for(lambda: far.site.transactions() == [])


def test_says_so_where_it_is_too_long_to_be_sent_again(far: Far) -> None:
    begun = far.begin("head -c 150000000 /dev/urandom >big; svn add -q big; svn ci -m once $A")
    temporary = far.site.disk / "db" / "txn-protorevs"
    wait_for(lambda: sum(one.stat().st_size for one in temporary.iterdir()) > 70 << 20)
    far.cut()
    said = begun.communicate(timeout=60)[0]
    assert begun.returncode in (0, 1)
    assert far.revisions() == (3 if begun.returncode == 0 else 2), said
    assert begun.returncode == 1
    assert "E175002" in said
    assert "nothing was committed" in said
    assert far.revisions() == 2
    wait_for(lambda: far.site.transactions() == [])


@pytest.mark.parametrize("victim", ["svn", "gateway"])
def test_nothing_is_left_of_a_commit_that_lost(far: Far, victim: str) -> None:
    begun = far.begin("head -c 60000000 /dev/urandom >big; svn add -q big; exec svn ci -m once $A")
    wait_for(lambda: far.site.transactions() != [])
    (begun if victim == "svn" else far.near.process).send_signal(signal.SIGKILL)
    begun.communicate(timeout=60)
    assert begun.returncode != 0
    wait_for(lambda: far.site.transactions() == [])
    assert far.revisions() == 2


def test_an_aborted_commit_leaves_nothing(far: Far) -> None:
    begun = far.begin("head -c 60000000 /dev/urandom >big; svn add -q big; exec svn ci -m once $A")
    wait_for(lambda: far.site.transactions() != [])
    begun.send_signal(signal.SIGINT)
    begun.communicate(timeout=60)
    assert begun.returncode != 0
    wait_for(lambda: far.site.transactions() == [])
    assert far.revisions() == 2
