"""Why a repository is served by the installed Mercurial and not by our own reading of its store.

One rule: what we can't promise to answer as stock would is left to stock. Slower, never wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import SettingsError
from trunkline.hg.store.requirements import NATIVE, NEEDED

# Hooks that run when somebody reads, which may forbid it. Source: hg 7.2.4, `hg help config.hooks`,
# mercurial/wireprotov1server.py. `prelock` isn't one: only stock locks to read.
READ_HOOKS = frozenset(
    {"listkeys", "outgoing", "prelistkeys", "preoutgoing", "pretransmit-inline-clone-bundle"}
)

# Extensions that change what is on the wire or how the store is read, and what each does.
EXTENSIONS = {
    "bfiles": "serves big files by commands of its own",
    "evolve": "adds commands to exchange obsolescence markers",
    "fastannotate": "adds the command getannotate",
    "fastmanifest": "stores manifests in its own way",
    "firefoxtree": "adds the command firefoxtrees",
    "git": "keeps its history in Git's format",
    "heptapod": "hides changesets and changes who sees topics",
    "hgmo": "changes which clone bundles a client is shown",
    "infinitepush": "keeps pushed changesets outside of the store",
    "kbfiles": "serves big files by commands of its own",
    "largefiles": "serves large files and demands a client that can ask for them",
    "lfs": "keeps file contents outside of the store",
    "narrow": "serves parts of the tree",
    "pushlog": "adds the command pushlog",
    "pushrebase": "changes what a push does and answers",
    "remotefilelog": "serves clones without file history",
    "reviewboard": "adds commands for reviews",
    "serverlog": "logs every command of the wire protocol",
    "topic": "changes branch heads and what is published",
    "treemanifest": "stores manifests in its own way",
    "vcsreplicator": "changes which changesets are visible",
}


def why_bridge(requirements: AbstractSet[str], config: HgConfig) -> str | None:
    """One reason, in words for an operator; None where we read the store ourselves."""
    return (
        _why_requirements(requirements)
        or _why_setting(config)
        or _why_hooks(config)
        or _why_extensions(config)
    )


def _why_requirements(requirements: AbstractSet[str]) -> str | None:
    if foreign := sorted(requirements - NATIVE):
        return f"its format needs {', '.join(foreign)}"
    if missing := sorted(NEEDED - requirements):
        return f"its format lacks {', '.join(missing)}"
    return None


def _why_setting(config: HgConfig) -> str | None:
    try:
        is_native = config.bool("trunkline", "native", True)
    except SettingsError as error:
        return error.text
    return None if is_native else "trunkline.native is off"


def _why_hooks(config: HgConfig) -> str | None:
    """A hook in a file that isn't trusted doesn't run, but forbids what it would have judged
    (hg 7.2.4, mercurial/hook.py), so it counts, whatever it says."""
    trusted = config.items("hooks")
    for name, command in {**trusted, **config.items("hooks", untrusted=True)}.items():
        if ":" in name or name.partition(".")[0] not in READ_HOOKS:
            continue
        if trusted.get(name) or command != trusted.get(name):
            return f"hooks.{name} is configured"
    return None


def _why_extensions(config: HgConfig) -> str | None:
    for known in _enabled(config):
        if known in EXTENSIONS:
            return f"the extension {known} {EXTENSIONS[known]}"
    return None


def has_extension(config: HgConfig, name: str) -> bool:
    """By what the configuration says; Mercurial loads some for a requirement, too."""
    return name in _enabled(config)


def _enabled(config: HgConfig) -> Iterator[str]:
    """Names that extensions in use go by."""
    for name, path in config.items("extensions").items():
        if ":" not in name and not path.startswith("!"):
            yield from _module_names(name, path)


def _module_names(name: str, path: str) -> tuple[str, str]:
    """`hgext.lfs`, `hgext/lfs`, or any name for `/somewhere/hgext3rd/topic/__init__.py`."""
    file = os.path.splitext(path.rstrip("/").removesuffix("/__init__.py"))[0]
    return name.replace("/", ".").rpartition(".")[2], os.path.basename(file)
