from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.liveness import await_end

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import StoreError
from trunkline.hg.stock import cmdserver, configuration
from trunkline.hg.stock.configuration import ConfigReader, read_base_config, read_config

from .conftest import HG, Repository


@pytest.fixture
def reader() -> Iterator[ConfigReader]:
    reader = ConfigReader(HG)
    yield reader
    reader.close()


def get(reader: ConfigReader, repository: Repository, name: str) -> str | None:
    return reader.read(str(repository.root)).get("web", name)


def test_values_are_those_that_hg_itself_has(repository: Repository, reader: ConfigReader) -> None:
    repository.configure(
        "[web]\nname = a name\ndescription = first\n  second\nempty =\n[hooks]\nx.y.z = a, b\n"
        "[ui]\nusername = \udcff\u00fc\n".encode("utf-8", "surrogateescape").decode("latin-1")
    )
    (repository.root / ".hg/hgrc").write_bytes(
        (repository.root / ".hg/hgrc").read_text().encode("latin-1")
    )
    config = reader.read(str(repository.root))
    assert config.trusted == {
        ("web", "name"): "a name",
        ("web", "description"): "first\nsecond",
        ("web", "empty"): "",
        ("hooks", "x.y.z"): "a, b",
        ("ui", "username"): "\udcff\u00fc",
    }
    assert config.untrusted == config.trusted


def test_the_same_object_comes_back_while_nothing_changes(
    repository: Repository, reader: ConfigReader
) -> None:
    first = reader.read(str(repository.root))
    assert reader.read(str(repository.root)) is first
    repository.configure("[web]\nname = x\n")
    assert reader.read(str(repository.root)) is not first


def test_what_is_kept_is_told_without_asking_hg(
    repository: Repository, reader: ConfigReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(repository.root)
    assert reader.kept(root) is None
    assert reader.read(root) is reader.kept(root)
    assert reader.kept(root, ["web.name=x"]) is None
    with reader._base_lock:  # somebody asks just now
        assert reader.kept(root) is None
    repository.configure("[web]\nname = x\n")
    assert reader.kept(root) is None
    assert reader.read(root) is reader.kept(root)
    monkeypatch.setenv("HGRCPATH", str(tmp_path / "another"))
    assert reader.kept(root) is None


def test_a_file_that_appears_changes_or_vanishes_is_seen_at_once(
    repository: Repository, reader: ConfigReader
) -> None:
    assert get(reader, repository, "name") is None
    repository.configure("[web]\nname = one\n")
    assert get(reader, repository, "name") == "one"
    repository.configure("[web]\nname = two\n%include late.rc\n")
    assert get(reader, repository, "name") == "two"
    (repository.root / ".hg/late.rc").write_text("[web]\nname = three\n")
    assert get(reader, repository, "name") == "three"
    (repository.root / ".hg/hgrc-not-shared").write_text("[web]\nname = four\n")
    assert get(reader, repository, "name") == "four"
    for name in ("hgrc-not-shared", "late.rc", "hgrc"):
        (repository.root / ".hg" / name).unlink()
    assert get(reader, repository, "name") is None


def test_the_hgrc_of_a_share_safe_source_counts_and_is_watched(
    tmp_path: Path, reader: ConfigReader
) -> None:
    source = Repository(tmp_path / "source", "format.use-share-safe=yes")
    share = tmp_path / "share"
    source.hg("--config", "extensions.share=", "share", str(source.root), str(share))
    source.configure("[web]\nname = one\n")
    assert reader.read(str(share)).get("web", "name") == "one"
    source.configure("[web]\nname = another\n")
    assert reader.read(str(share)).get("web", "name") == "another"


def test_a_users_file_counts_and_is_watched(
    repository: Repository,
    reader: ConfigReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = tmp_path / "user.rc"
    monkeypatch.setenv("HGRCPATH", str(user))
    assert get(reader, repository, "name") is None
    user.write_text("[web]\nname = of the user\n[hooks]\noutgoing = echo\n")
    assert get(reader, repository, "name") == "of the user"
    user.write_text("[web]\nname = changed\n")
    config = reader.read(str(repository.root))
    assert (config.get("web", "name"), config.get("hooks", "outgoing")) == ("changed", None)


def test_overrides_win_and_are_kept_apart(repository: Repository, reader: ConfigReader) -> None:
    repository.configure("[web]\nname = file\n")
    assert reader.read(str(repository.root), ["web.name=a=b"]).get("web", "name") == "a=b"
    assert get(reader, repository, "name") == "file"


@pytest.mark.skipif(
    os.geteuid() != 0,
    reason="only root can make a file of another owner, and nothing else is untrusted to hg",
)
def test_a_file_of_another_owner_is_read_but_not_trusted(
    repository: Repository, reader: ConfigReader
) -> None:
    repository.configure("[web]\nname = theirs\n")
    os.chown(repository.root / ".hg/hgrc", 12345, 12345)
    config = reader.read(str(repository.root))
    assert config.get("web", "name") is None
    assert config.get("web", "name", untrusted=True) == "theirs"
    os.chown(repository.root / ".hg/hgrc", 0, 0)
    assert get(reader, repository, "name") == "theirs"


def test_a_broken_file_is_one_clear_line_until_it_is_mended(
    repository: Repository, reader: ConfigReader
) -> None:
    repository.configure("[web]\nname = x\nwhat is this\n")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"hgrc:3.*what is this") as error:
            reader.read(str(repository.root))
        assert "\n" not in str(error.value)
    repository.configure("[web]\nname = mended\n")
    assert get(reader, repository, "name") == "mended"


def test_a_broken_file_costs_no_memory_for_each_request(
    repository: Repository, reader: ConfigReader
) -> None:
    """One exception, raised again and again, gathers the frames of all who caught it."""
    repository.configure("what is this\n")

    def ask() -> StoreError:
        mine = bytearray(1)  # what a request holds
        with pytest.raises(StoreError) as error:
            reader.read(str(repository.root))
        assert mine
        return error.value

    failures = [ask() for _ in range(3)]
    assert len({id(failure) for failure in failures}) == 3
    assert len({len(traceback.extract_tb(failure.__traceback__)) for failure in failures[1:]}) == 1


def test_a_fifo_is_one_clear_line_and_nobody_waits(
    repository: Repository, reader: ConfigReader
) -> None:
    repository.configure("[web]\nname = x\n%include pipe\n")
    os.mkfifo(repository.root / ".hg/pipe")
    for _ in range(2):
        start = time.monotonic()
        with pytest.raises(StoreError, match=r"isn't a file \[.*/pipe\]"):
            reader.read(str(repository.root))
        assert time.monotonic() - start < 10
    (repository.root / ".hg/pipe").unlink()
    assert get(reader, repository, "name") == "x"


def test_a_failure_that_is_not_the_files_own_is_not_kept(
    repository: Repository, tmp_path: Path
) -> None:
    """A program that couldn't be started once, or was killed, is asked again."""
    wrapper, broken = tmp_path / "hg", tmp_path / "broken"
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *-R*|*cmdserver*) [ -e {broken} ] && kill -9 $$;; esac\n'
        f'exec {HG} "$@"\n'
    )
    wrapper.chmod(0o755)
    repository.configure("[web]\nname = after\n")
    reader = ConfigReader(str(wrapper))
    broken.touch()
    with pytest.raises(StoreError):
        reader.read(str(repository.root))
    broken.unlink()
    assert get(reader, repository, "name") == "after"
    reader.close()


def test_what_is_no_repository_is_one_clear_line(tmp_path: Path, reader: ConfigReader) -> None:
    with pytest.raises(StoreError, match="not found"):
        reader.read(str(tmp_path / "nothing"))


def test_a_command_server_that_died_is_replaced(
    repository: Repository, reader: ConfigReader
) -> None:
    reader.read(str(repository.root))
    process = reader._server._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    repository.configure("[web]\nname = after\n")
    assert get(reader, repository, "name") == "after"


@pytest.mark.parametrize("ending", ["sleep 600", "echo what; exit 3", "exit 1"])
def test_without_a_command_server_hg_is_run_once_each(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(cmdserver, "COMMAND_SECONDS", 1.0)
    wrapper = tmp_path / "hg"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *cmdserver*) {ending};; esac\nexec {HG} "$@"\n')
    wrapper.chmod(0o755)
    reader = ConfigReader(str(wrapper))
    repository.configure("[web]\nname = once\n")
    assert get(reader, repository, "name") == "once"
    with pytest.raises(StoreError, match="not found"):
        reader.read(str(tmp_path / "nothing"))
    reader.close()


def test_a_program_that_is_not_mercurial_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        ConfigReader("/bin/false").read(str(tmp_path))


def test_memory_is_bounded(
    tmp_path: Path, reader: ConfigReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(configuration, "CACHED_LIMIT", 2)
    repositories = [Repository(tmp_path / str(number)) for number in range(4)]
    for repository in repositories:
        reader.read(str(repository.root))
    assert [root for root, _ in reader._cache] == [str(r.root) for r in repositories[2:]]


def test_many_threads_get_one_object(repository: Repository, reader: ConfigReader) -> None:
    found: list[HgConfig] = []
    threads = [
        threading.Thread(target=lambda: found.append(reader.read(str(repository.root))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(config is found[0] for config in found)


def test_sections_that_no_server_reads_are_dropped(
    repository: Repository, reader: ConfigReader
) -> None:
    repository.configure("[auth]\nx.password = secret\n[alias]\na = b\n[web]\nname = x\n")
    assert list(reader.read(str(repository.root)).trusted) == [("web", "name")]


def test_no_configuration_at_all_is_none_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hg config` ends with status 1 then, and says nothing."""
    monkeypatch.setenv("HGRCPATH", "")
    assert read_base_config() == HgConfig()


def test_read_config_finds_hg_by_itself(repository: Repository) -> None:
    repository.configure("[web]\nname = x\n")
    assert read_config(str(repository.root)).get("web", "name") == "x"
    with pytest.raises(StoreError, match="no program at"):
        read_config(str(repository.root), hg="/no/hg")


def test_the_child_ends_when_its_worker_is_killed(repository: Repository) -> None:
    code = (
        "import sys, time\n"
        "from trunkline.hg.stock.configuration import config_reader\n"
        "reader = config_reader(); reader.read(sys.argv[1])\n"
        "print(reader._server._process.pid, flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(repository.root)], stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdout is not None
        pid = int(worker.stdout.readline())
        worker.kill()
    await_end(pid)
