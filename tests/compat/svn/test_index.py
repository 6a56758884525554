"""Folders as XML that names a stylesheet: the same as mod_dav_svn's with SVNIndexXSLT."""

from __future__ import annotations

import re
import urllib.request
from difflib import unified_diff

from tests.compat.svn.client import Site
from tests.compat.svn.conftest import Make

FILL = (
    "svn checkout -q $U wc && cd wc && mkdir -p 'd & e' 'a:b' && touch 'a:b/f' 'd & e/100%'"
    " \"o'p\" ü '<q>' '#1' && svn add -q * && svn commit -q -m 1"
    " && svn rm -q ü && svn commit -q -m 2"
)
PATHS = ("/", "/d%20&%20e/", "/a:b/", "/?p=1", "/!svn/rvr/1/", "/!svn/bc/1/a:b/")
ESCAPED = re.compile("%[0-9a-f]{2}")
VERSION = re.compile(rb'version="[^"]*"')


def get(site: Site, path: str) -> tuple[str, list[str]]:
    with urllib.request.urlopen(site.url + path, timeout=60) as got:
        text = VERSION.sub(b"", got.read()).decode()
    lines = ESCAPED.sub(lambda found: found[0].upper(), text).replace("&apos;", "'")
    return got.headers.get_content_type(), lines.splitlines()


def test_folders_are_xml_for_a_stylesheet(pair: Make) -> None:
    both = pair("v1")
    both.same(FILL)
    for path in PATHS:
        ours, stock = get(both.ours, path), get(both.stock, path)
        assert ours == stock, [path, *unified_diff(stock[1], ours[1], n=0)]
