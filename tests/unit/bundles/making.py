"""A repository with clone bundles, for tests that list, send and replace them."""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec.structs import replace
from tests.unit.http.conftest import commit, new, run

from trunkline.bundles.refresh import Refresh, Subject
from trunkline.config.bundles import Bundles
from trunkline.config.settings import Log, Settings
from trunkline.config.spool import Spool
from trunkline.hg.stock.configuration import read_config
from trunkline.hg.store.repository import Repository
from trunkline.hg.wire.shelf import Edition, Listing, Shelf, repository_id


class Made:
    """A repository with bundles, and how it is served."""

    def __init__(self, folder: Path, source: Path | None = None) -> None:
        self.repository = folder / "r"
        if source is not None:
            shutil.copytree(source, self.repository)
        else:
            new(self.repository)
            commit(self.repository, "a", b"1\n" * 5000, "one")
            commit(self.repository, "a", b"2\n" * 5000, "two")
            run(self.repository, "phase", "-q", "--public", "tip")
        self.bundles = Bundles(make="always", path=str(folder / "bundles"), free_bytes=0)
        self.settings = Settings(
            log=Log(access=""), bundles=self.bundles, spool=Spool(path=str(folder / "spool"))
        )
        self.shelf = Shelf(str(folder / "bundles"))

    @property
    def subject(self) -> Subject:
        config = read_config(str(self.repository))
        root = str(self.repository)
        return Subject(root, config, lambda: Repository(root, config).snapshot())

    def make(self) -> Edition:
        refresh = Refresh(self.bundles, self.shelf)
        try:
            edition = refresh.run(self.subject)
        finally:
            refresh.close()
        assert edition is not None
        return edition

    @property
    def edition(self) -> Edition:
        edition = self.shelf.listing(str(self.repository)).newest
        assert edition is not None
        return edition

    def file(self, kind: str = "zstd") -> tuple[str, bytes]:
        """Its name and its bytes."""
        (bundle,) = (each for each in self.edition.bundles if each.kind == kind)
        return bundle.name, Path(self.shelf.path(bundle)).read_bytes()


def copy_of(made: Made, folder: Path) -> Made:
    """The same at another place, to be changed."""
    copy = Made(folder, made.repository)
    root, new_root = str(made.repository), str(copy.repository)
    Path(copy.shelf.folder).mkdir(mode=0o700)
    bundles = []
    for bundle in made.edition.bundles:
        name = bundle.name.replace(repository_id(root), repository_id(new_root))
        bundles.append(replace(bundle, name=name))
        shutil.copy2(made.shelf.path(bundle), copy.shelf.path(bundles[-1]))
    copy.shelf.write(new_root, Listing([replace(made.edition, bundles=bundles)]))
    return copy
