from __future__ import annotations

import pytest

from trunkline.access.glob import matches


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("**", ["", "a", "a/b/c"], []),
        ("*", ["a", "a.b"], ["", "a/b"]),
        ("team/**", ["team/a", "team/a/b"], ["team", "team2/a", "x/team/a"]),
        ("team/*", ["team/a"], ["team", "team/a/b"]),
        ("**/web", ["web", "a/web", "a/b/web"], ["webs", "a/web/b", "aweb"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["a", "z", "az", "a/b/zz"]),
        ("a/**/**", ["a/b", "a/b/c"], ["a", "b"]),
        ("**/**", ["a", "a/b"], [""]),
        ("?x*", ["ax", "bxyz"], ["x", "a/x"]),
        ("a*b*c", ["abc", "axxbxxc", "abcbc"], ["abcb", "ab/c"]),
        ("[a]", ["[a]"], ["a"]),
        ("Team", ["Team"], ["team"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_matches(glob: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not matches(glob, path)] == []
    assert [path for path in no if matches(glob, path)] == []


def test_time_stays_small_whatever_is_asked() -> None:
    """A pattern and a path that take a backtracking matcher for ever."""
    assert not matches("*a" * 30 + "b", "a" * 4000)
    assert not matches("/".join(["**", "a"] * 14) + "/b", "/".join(["a"] * 31))
