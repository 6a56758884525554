"""Mercurial's own Python as maker of repositories and as oracle, in this process: quick."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mercurial import (
    context,
    encoding,
    error,
    hg,
    initialization,
    obsolete,
    phases,
    scmutil,
    tags,
    ui,
)

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.store.repository import Repository

encoding.encoding = b"utf-8"
initialization.init()

NULL = bytes(20)
EVOLUTION = {"experimental.evolution": "all"}


class Stock:
    """One repository, by Mercurial. Revisions are given and returned as numbers."""

    def __init__(self, path: Path, config: Mapping[str, str] = EVOLUTION) -> None:
        self.path = path
        self.config = dict(config)
        is_new = not path.exists()
        self.ui: Any = ui.ui()
        for name, value in {
            "ui.username": "test",
            "devel.default-date": "0 0",
            "format.use-internal-phase": "yes",
            "format.exp-archived-phase": "yes",
            **config,
        }.items():
            section, _, key = name.partition(".")
            self.ui.setconfig(section.encode(), key.encode(), value.encode())
        self.repo: Any = hg.repository(self.ui, str(path).encode(), create=is_new).unfiltered()

    def filtered(self, name: str | None) -> Any:
        return self.repo if name is None else self.repo.filtered(name.encode())

    def repository(self) -> Repository:
        values = {
            (name.partition(".")[0], name.partition(".")[2]): value
            for name, value in self.config.items()
        }
        return Repository(str(self.path), HgConfig(values, values))

    def commit(
        self,
        *parents: int,
        files: Mapping[bytes, bytes | None] | None = None,
        branch: bytes = b"default",
        is_closing: bool = False,
        phase: int = phases.draft,
        text: bytes = b"text",
    ) -> int:
        repo = self.repo
        nodes = [repo.changelog.node(rev) for rev in parents]
        contents = {b"file": b"%d\n" % len(repo)} if files is None else files

        def find(where: Any, memctx: Any, path: bytes) -> Any:
            data = contents[path]
            return None if data is None else context.memfilectx(where, memctx, path, data)

        extra = {b"branch": branch, **({b"close": b"1"} if is_closing else {})}
        change = context.memctx(
            repo, [*nodes, NULL, NULL][:2], text, list(contents), find, b"user", b"0 0", extra
        )
        with (
            repo.wlock(),
            repo.lock(),
            repo.transaction(b"commit"),
            repo.ui.configoverride({(b"phases", b"new-commit"): b"%d" % phase}),
        ):
            return int(repo.changelog.rev(repo.commitctx(change)))

    def publish(self, *revs: int) -> None:
        repo = self.repo
        with repo.wlock(), repo.lock(), repo.transaction(b"phase") as tr:
            phases.advanceboundary(repo, tr, phases.public, [], revs=list(revs))

    def retract(self, phase: int, *revs: int) -> None:
        """Make them secret, archived or internal, and so what descends from them."""
        repo = self.repo
        nodes = [repo.changelog.node(rev) for rev in revs]
        with repo.wlock(), repo.lock(), repo.transaction(b"phase") as tr:
            phases.retractboundary(repo, tr, phase, nodes)

    def bookmark(self, name: bytes, rev: int) -> None:
        repo = self.repo
        with repo.wlock(), repo.lock(), repo.transaction(b"bookmark") as tr:
            repo._bookmarks.applychanges(repo, tr, [(name, repo.changelog.node(rev))])

    def rewrite(self, old: Sequence[int], new: Sequence[int]) -> None:
        """Amend, split, fold or (nothing new) prune."""
        repo = self.repo
        successors = tuple(repo[rev] for rev in new)
        with repo.wlock(), repo.lock():
            obsolete.createmarkers(repo, [(tuple(repo[rev] for rev in old), successors)])

    def local_tag(self, name: bytes, rev: int) -> None:
        node = self.repo.changelog.node(rev)
        tags.tag(self.repo, [name], node, b"", True, b"user", b"0 0")

    def stand_on(self, *revs: int) -> None:
        """The parents of the working copy, without its files."""
        nodes = [self.repo.changelog.node(rev) for rev in revs]
        with self.repo.wlock(), self.repo.dirstate.changing_parents(self.repo):
            self.repo.dirstate.setparents(*nodes)
        self.repo.invalidateall()

    def tag_lines(self, names: Iterable[bytes], revs: Sequence[int]) -> bytes:
        return b"".join(
            b"%s %s\n" % (self.repo.changelog.node(rev).hex().encode(), name)
            for name, rev in zip(names, revs, strict=True)
        )

    def lookup(self, view: str | None, symbol: bytes) -> bytes | str:
        """The node, or what the error says."""
        repo = self.filtered(view)
        try:
            node: bytes = repo.lookup(symbol)
        except (error.RepoLookupError, error.LookupError) as problem:
            return bytes(problem).decode() if hasattr(problem, "__bytes__") else str(problem)
        return node

    def only(self, view: str | None, heads: Sequence[int], common: Sequence[int]) -> list[int]:
        return sorted(self.filtered(view).revs(b"only(%ld, %ld)", heads, common))

    def revs(self, view: str | None, expression: bytes) -> list[int]:
        return sorted(scmutil.revrange(self.filtered(view), [expression]))


def random_repository(path: Path, seed: int, size: int = 40) -> Stock:
    """Everything that hides, names or moves changesets, in one history."""
    chance = random.Random(seed)
    stock = Stock(path)
    branches = [b"default", "älter".encode(), b"stable", b"a b"]
    tag_names = [b"v1", b"v2", "größe".encode(), b"with space"]
    for rev in range(size):
        parents: list[int] = []
        if rev and chance.random() < 0.95:
            parents.append(chance.randrange(max(0, rev - 6), rev))
        if parents and chance.random() < 0.25 and rev > 2:
            other = chance.randrange(rev)
            repo = stock.repo
            if repo.changelog.isancestorrev(other, parents[0]) is False:
                parents.append(other)
        branch = stock.repo[parents[0]].branch() if parents else b"default"
        if chance.random() < 0.3:
            branch = chance.choice(branches)
        files: dict[bytes, bytes | None] = {b"file": b"%d\n" % rev}
        if rev and chance.random() < 0.3:
            before = b""
            if parents and b".hgtags" in stock.repo[parents[0]]:
                before = stock.repo[parents[0]][b".hgtags"].data()
            names = chance.sample(tag_names, 2)
            files[b".hgtags"] = before + stock.tag_lines(
                names, [chance.randrange(-1, rev) for _ in names]
            )
            if b".hgtags" in (stock.repo[parents[0]] if parents else ()) and chance.random() < 0.2:
                files[b".hgtags"] = None
        phase = phases.secret if chance.random() < 0.05 else phases.draft
        stock.commit(
            *parents,
            files=files,
            branch=branch,
            is_closing=bool(parents) and chance.random() < 0.15,
            phase=phase,
        )
    if chance.random() < 0.7:
        stock.publish(*chance.sample(range(size // 2), 3))
    mutable = [rev for rev in range(size) if stock.repo[rev].mutable()]
    chance.shuffle(mutable)
    if chance.random() < 0.5 and mutable:
        stock.retract(chance.choice([phases.internal, phases.archived]), mutable.pop())
    while len(mutable) > size // 3:
        kind = chance.choice(["amend", "split", "fold", "prune", "leave", "leave"])
        old = [mutable.pop() for _ in range(2 if kind == "fold" else 1)]
        new = {"split": 2, "prune": 0, "leave": -1}.get(kind, 1)
        if new >= 0:
            others = [rev for rev in range(size) if rev not in old]
            stock.rewrite(old, chance.sample(others, new))
    for name in (b"book", "büch".encode(), b"book@elsewhere", b"at@", b"stable2"):
        stock.bookmark(name, chance.randrange(size))
    if chance.random() < 0.5:
        stock.local_tag(b"mine", chance.randrange(size))
    if chance.random() < 0.7:
        stock.stand_on(chance.randrange(size))
    return Stock(path)
