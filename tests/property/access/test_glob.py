"""Against a regular expression that says the same, and takes its time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from trunkline.access.glob import matches

PARTS = st.text("ab*?.", min_size=1, max_size=5).filter(lambda part: "**" not in part)
GLOBS = st.lists(PARTS | st.just("**"), min_size=1, max_size=5).map("/".join)
PATHS = st.lists(st.text("ab.", min_size=1, max_size=5), max_size=5).map("/".join)


def oracle(glob: str, path: str) -> bool:
    if glob == "**":
        return True
    words = glob.split("/")
    pattern = ""
    for place, word in enumerate(words):
        is_last = place == len(words) - 1
        if word == "**":
            pattern += "(?:[^/]+/)+" if is_last else "(?:[^/]+/)*"
        else:
            part = re.escape(word).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
            pattern += part + "/"
    return re.fullmatch(pattern, path + "/" if path else "") is not None


@given(GLOBS, PATHS)
def test_matches_as_the_oracle_says(glob: str, path: str) -> None:
    assert matches(glob, path) == oracle(glob, path)


@given(st.text(max_size=40), st.text(max_size=40))
def test_never_fails(glob: str, path: str) -> None:
    matches(glob, path)
