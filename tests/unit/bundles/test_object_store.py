"""What needs no store: mistakes, and a store that doesn't answer. tests/compat has a real one."""

from __future__ import annotations

import logging
import sys
import time

import pytest

from trunkline.bundles.object_store import ObjectStore, open_store
from trunkline.config.bundles import BundleStore
from trunkline.config.settings import parse_settings
from trunkline.errors import SettingsError
from trunkline.hg.wire.shelf import Bundle

BUNDLE = Bundle("0-zstd-1", "zstd", "zstd-v2", 10, key="x/0-zstd-1.hg")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


def test_store_that_does_not_answer_is_asked_once_in_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = ObjectStore(BundleStore(url="s3://b/x", endpoint="http://127.0.0.1:1", seconds=1))
    begun = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert store.address(BUNDLE) is None
        assert [store.address(each) for each in (BUNDLE, BUNDLE)] == [None, None]
    assert time.monotonic() - begun < 5
    assert len(caplog.records) == 1


def test_without_the_library_the_start_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(SettingsError, match=r"pip install trunkline\[s3\]"):
        open_store(BundleStore(url="s3://b"))
    assert open_store(BundleStore()) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[bundle_store]\nurl = "https://b/x"', "isn't s3://BUCKET/PREFIX"),
        ('[bundle_store]\npublic_url = "cdn"', "isn't http:// or https://"),
        ('[bundle_store]\nendpoint = "s3.example.org"', "isn't http:// or https://"),
        ('[server]\npublic_url = "hg.example.org"', "isn't http:// or https://"),
        ('[bundles]\nkinds = ["stream"]', "one of zstd and gzip is needed"),
        ('[bundles]\nkinds = ["xz"]', "xz"),
        ('[bundles]\nmake = "yes"', "make"),
    ],
)
def test_mistakes_in_the_settings_are_told(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        parse_settings(text.encode())
