from __future__ import annotations

import pytest

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.stock.reasons import EXTENSIONS, why_bridge
from trunkline.hg.store.requirements import NATIVE

Item = tuple[str, str, str]


def config(*items: Item, untrusted: tuple[Item, ...] = ()) -> HgConfig:
    trusted = {(section, name): value for section, name, value in items}
    more = {(section, name): value for section, name, value in untrusted}
    return HgConfig(trusted, {**trusted, **more})


def test_native_requirements_and_plain_configuration_need_no_bridge() -> None:
    assert why_bridge(NATIVE, config()) is None


@pytest.mark.parametrize("foreign", ["treemanifest", "exp-changelog-v2", "narrowhg-experimental"])
def test_a_requirement_that_we_do_not_read(foreign: str) -> None:
    assert why_bridge(NATIVE | {foreign}, config()) == f"its format needs {foreign}"


def test_a_requirement_that_we_need() -> None:
    assert why_bridge(NATIVE - {"revlogv1"}, config()) == "its format lacks revlogv1"


@pytest.mark.parametrize(
    "name",
    ["outgoing", "preoutgoing.a", "listkeys", "prelistkeys.x.y", "pretransmit-inline-clone-bundle"],
)
@pytest.mark.parametrize("command", ["echo", "python:module.function"])
def test_a_read_hook(name: str, command: str) -> None:
    assert why_bridge(NATIVE, config(("hooks", name, command))) == f"hooks.{name} is configured"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("outgoing", ""),  # disabled
        ("changegroup", "echo"),
        ("pretxnchangegroup.outgoing", "echo"),
        ("priority.outgoing", "1"),
        ("outgoing:run-with-plain", "no"),
        ("incoming", "echo"),
    ],
)
def test_what_is_no_read_hook(name: str, command: str) -> None:
    assert why_bridge(NATIVE, config(("hooks", name, command))) is None


@pytest.mark.parametrize(
    ("trusted", "untrusted"), [((), "echo"), ((("hooks", "outgoing", "echo"),), "")]
)
def test_a_hook_in_an_untrusted_file_counts_since_it_forbids(
    trusted: tuple[Item, ...], untrusted: str
) -> None:
    told = config(*trusted, untrusted=(("hooks", "outgoing", untrusted),))
    assert why_bridge(NATIVE, told) == "hooks.outgoing is configured"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("lfs", ""),
        ("hgext.lfs", ""),
        ("hgext/lfs", ""),
        ("topic", "/opt/evolve/hgext3rd/topic"),
        ("mine", "~/evolve/hgext3rd/topic/__init__.py"),
        ("mine", "/opt/topic.py"),
    ],
)
def test_an_extension_by_any_name(name: str, path: str) -> None:
    known = "lfs" if "lfs" in name else "topic"
    reason = why_bridge(NATIVE, config(("extensions", name, path)))
    assert reason == f"the extension {known} {EXTENSIONS[known]}"


@pytest.mark.parametrize(
    ("name", "path"),
    [("lfs", "!"), ("lfs", "!/opt/lfs.py"), ("rebase", ""), ("lfs:required", "yes")],
)
def test_what_is_no_such_extension(name: str, path: str) -> None:
    assert why_bridge(NATIVE, config(("extensions", name, path))) is None


def test_an_extension_in_an_untrusted_file_is_not_loaded() -> None:
    assert why_bridge(NATIVE, config(untrusted=(("extensions", "lfs", ""),))) is None


@pytest.mark.parametrize(("value", "is_bridged"), [("no", True), ("yes", False), ("", False)])
def test_the_setting_of_one_repository(value: str, is_bridged: bool) -> None:
    reason = why_bridge(NATIVE, config(("trunkline", "native", value)))
    assert reason == ("trunkline.native is off" if is_bridged else None)


def test_a_setting_that_can_not_be_read_is_a_reason() -> None:
    reason = why_bridge(NATIVE, config(("trunkline", "native", "perhaps")))
    assert reason is not None
    assert "trunkline.native: not a boolean" in reason
