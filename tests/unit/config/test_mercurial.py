from __future__ import annotations

import pytest

from trunkline.config.hgconfig import HgConfig
from trunkline.config.mercurial import CHECKS, check, check_overrides, parse_override
from trunkline.errors import SettingsError


@pytest.mark.parametrize(
    "override",
    [
        "server.compressionengines=none,zlib",
        "server.compressionengines=zstd, zlib, bz2",
        "server.zliblevel=-1",
        "server.zliblevel=9",
        "server.zstdlevel=1",
        "server.zstdlevel=22",
        "server.bz2level=9",
        "server.uncompressed=no",
        "server.bundle1.push=False",
        "server.maxhttpheaderlen=1024",
        "server.maxhttpheaderlen=0",
        "server.view=immutable",
        "server.concurrent-push-mode=strict",
        "web.allow-pull=off",
        "web.name=a = b",
        "extension.of.somebody=whatever",
    ],
)
def test_good_values_pass(override: str) -> None:
    check_overrides([override])


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("server.compressionengines=foo", "foo"),
        ("server.compressionengines=zlib,nope", "server.compressionengines"),
        ("server.zliblevel=10", "server.zliblevel"),
        ("server.zliblevel=fast", "server.zliblevel"),
        ("server.zstdlevel=23", "server.zstdlevel"),
        ("server.bz2level=0", "server.bz2level"),
        ("server.bundle1=perhaps", "server.bundle1: not a boolean"),
        ("server.uncompressed=2", "server.uncompressed"),
        ("server.uncompressedallowsecret=x", "server.uncompressedallowsecret"),
        ("server.bundle2.stream=x", "server.bundle2.stream"),
        ("server.validate=x", "server.validate"),
        ("server.disablefullbundle=x", "server.disablefullbundle"),
        ("server.bookmarks-pushkey-compat=x", "server.bookmarks-pushkey-compat"),
        ("server.maxhttpheaderlen=1k", "server.maxhttpheaderlen"),
        ("server.maxhttpheaderlen=3", "server.maxhttpheaderlen"),
        ("server.view=everything", "server.view"),
        ("server.concurrent-push-mode=lax", "server.concurrent-push-mode"),
        ("web.allow-pull=sometimes", "web.allow-pull"),
        ("web.push_ssl=sometimes", "web.push_ssl"),
        ("server.zstdlevel", "malformed --config"),
        ("=1", "malformed --config"),
        ("server=1", "malformed --config"),
        (".name=1", "malformed --config"),
        ("server.=1", "malformed --config"),
        ("a.b=c\nd", "malformed --config"),
    ],
)
def test_bad_values_are_one_line(override: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_overrides([override])
    assert words in caught.value.text
    assert "\n" not in caught.value.text.removesuffix("'")


def test_last_override_counts() -> None:
    check_overrides(["server.zstdlevel=99", "server.zstdlevel=3"])


def test_untrusted_values_are_checked_too() -> None:
    with pytest.raises(SettingsError):
        check(HgConfig({}, {("web", "allow-pull"): "sometimes"}))


def test_name_may_hold_dots_and_value_equal_signs() -> None:
    assert parse_override("server.bundle1.push = a=b") == ("server", "bundle1.push", "a=b")


def test_each_boolean_is_refused_when_it_is_none() -> None:
    """No row of the table is one that passes everything."""
    for section, name in CHECKS:
        with pytest.raises(SettingsError):
            check_overrides([f"{section}.{name}=!?"])
