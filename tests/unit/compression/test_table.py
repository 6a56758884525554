from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trunkline.compression.table import engines_for, installed
from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError

ENGINE = """
from collections.abc import Iterable, Iterator
from trunkline.compression.engine import Engine

class Backwards(Engine):
    name = "backwards"
    wire_name = b"x-backwards"
    priority = {priority}

    def compress(self, blocks: Iterable[bytes], level: int | None) -> Iterator[bytes]:
        yield b"".join(blocks)[::-1]
"""


def server(**values: str) -> HgConfig:
    return HgConfig({("server", name): value for name, value in values.items()})


def names(config: HgConfig) -> list[str]:
    return [chosen.engine.name for chosen in engines_for(config)]


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed distributions: writing into it is installing."""
    monkeypatch.syspath_prepend(str(tmp_path))
    installed.cache_clear()
    yield tmp_path
    installed.cache_clear()


def install(folder: Path, source: str, name: str = "backwards") -> None:
    module = f"engine_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(source)
    info = folder / "backwards_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: backwards-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[trunkline.compression]\n{name} = {module}:Backwards\n"
    )


def test_default_is_zstd_then_zlib() -> None:
    assert names(HgConfig()) == ["zstd", "zlib"]


@pytest.mark.parametrize("value", ["none,zlib", "none, zlib", "none zlib", "none,zlib,none"])
def test_setting_replaces_list_and_order(value: str) -> None:
    assert names(server(compressionengines=value)) == ["none", "zlib"]


def test_unknown_engine_is_one_clear_line() -> None:
    with pytest.raises(SettingsError, match=r"server\.compressionengines: lzma, rot13 ") as caught:
        engines_for(server(compressionengines="rot13,zlib,lzma"))
    assert "\n" not in caught.value.text


def test_level_comes_from_its_setting() -> None:
    levels = [chosen.level for chosen in engines_for(server(zstdlevel="10", zliblevel="1"))]
    assert levels == [10, 1]


@pytest.mark.parametrize("setting", [{"zliblevel": "10"}, {"zstdlevel": "23"}])
def test_level_out_of_range_is_one_clear_line(setting: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="is no level of"):
        engines_for(server(**setting))


def test_engine_of_another_distribution_is_used_when_named(distribution: Path) -> None:
    install(distribution, ENGINE.format(priority=0))
    assert names(HgConfig()) == ["zstd", "zlib"]
    assert names(server(compressionengines="backwards,zlib")) == ["backwards", "zlib"]


def test_engine_of_another_distribution_joins_defaults_by_priority(distribution: Path) -> None:
    install(distribution, ENGINE.format(priority=30))
    assert names(HgConfig()) == ["zstd", "backwards", "zlib"]


def test_broken_engine_takes_no_other_down(distribution: Path) -> None:
    install(distribution, "import no_such_module\n")
    assert names(HgConfig()) == ["zstd", "zlib"]
    with pytest.raises(SettingsError, match="backwards"):
        engines_for(server(compressionengines="backwards"))


def test_engine_under_a_name_that_is_taken_is_refused(distribution: Path) -> None:
    install(distribution, ENGINE.format(priority=0).replace('"backwards"', '"zlib"'), name="zlib")
    with pytest.raises(SettingsError, match="two compression engines are named zlib"):
        engines_for(HgConfig())


def test_entry_point_that_is_no_engine_is_refused(distribution: Path) -> None:
    install(distribution, "class Backwards: pass\n")
    with pytest.raises(SettingsError, match="is no engine of that name"):
        engines_for(HgConfig())
