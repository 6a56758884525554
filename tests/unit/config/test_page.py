from __future__ import annotations

import msgspec
from tests.compat.hg import ROOT

from trunkline.config.auth import Auth, Rule, Tls
from trunkline.config.limits import Limits
from trunkline.config.page import render
from trunkline.config.settings import Index, Log, Server, Settings, parse_settings
from trunkline.config.spool import Spool


def test_docs_show_the_table_as_it_is() -> None:
    page = ROOT / "docs" / "configuration.md"
    assert page.read_text() == render(), (
        "run: python -m trunkline.config.page > docs/configuration.md"
    )


def test_every_field_is_in_the_docs_with_a_meaning() -> None:
    page = render()
    for struct in (Settings, Server, Index, Limits, Spool, Log, Auth, Rule, Tls):
        for item in msgspec.structs.fields(struct):
            is_section = isinstance(item.type, type) and issubclass(item.type, msgspec.Struct)
            assert (f"## [{item.name}]" if is_section else f"| `{item.name}` |") in page


def test_every_limit_has_a_unit() -> None:
    rows = [line for line in render().partition("## [limits]")[2].splitlines() if "| `" in line]
    assert len(rows) >= len(msgspec.structs.fields(Limits))
    for row in rows[: len(msgspec.structs.fields(Limits))]:
        assert row.split("|")[3].strip(), row


def test_the_example_is_a_good_file() -> None:
    text = render().partition("```toml\n")[2].partition("```")[0]
    assert len(parse_settings(text.encode()).access) == 2
