"""A Mercurial extension: `hg serve` starts Trunkline instead of the stock server.

Loaded by run-tests.py through `extensions.trunkline_serve=...`, so it runs inside stock `hg`. It
reads the options as Mercurial parsed them and hands them to `front.py`, a program of its own.
`hg serve --stdio` and `--cmdserver` stay Mercurial's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from mercurial import commands, encoding, error, extensions
from mercurial.utils import urlutil

testedwith = b"ships-with-hg-core"

# Where Trunkline's default differs from stock's on purpose, the tests get stock's value, unless the
# test sets one itself.
STOCK_VALUES = {
    (b"experimental", b"httppostargs"): b"no",
    (b"server", b"maxhttpheaderlen"): b"1024",
}
# The extension itself is no business of the server's.
OWN = (b"extensions", b"trunkline_serve")
AUTH = b"httpserverauth.py"  # lets in `user` with `pass` and nobody else; so do our settings then


def uisetup(ui: Any) -> None:
    extensions.wrapcommand(commands.table, b"serve", serve)


def serve(orig: Any, ui: Any, repo: Any, **opts: Any) -> Any:
    if opts["stdio"] or opts["cmdserver"] or opts["daemon_postexec"]:
        return orig(ui, repo, **opts)
    ask = {
        "path": _text(_served(ui, repo, opts)),
        "config": _config(ui, opts["web_conf"]),
        "address": _text(opts["address"] or ui.config(b"web", b"address") or b"localhost"),
        "port": urlutil.getport(opts["port"] or ui.config(b"web", b"port") or b"8000"),
        "access_log": _text(opts["accesslog"]),
        "error_log": _text(opts["errorlog"]),
        "verbose": bool(ui.verbose),
        "daemon": bool(opts["daemon"]),
        "prefix": _text(opts["prefix"].strip(b"/")),
        "certificate": _text(opts["certificate"] or b""),
        "client_ca": _text(ui.config(b"devel", b"servercafile") or b""),
        "asks_login": AUTH in dict(ui.configitems(b"extensions")).get(b"x", b""),
        # What an extension of test-http-permissions.t reads in the stock server.
        "user": os.environ.get("REMOTE_USER", ""),
        "method": os.environ.get("REQUEST_METHOD", ""),
    }
    environment = {**os.environ, "HGENCODING": _text(encoding.encoding)}
    front = os.path.join(os.path.dirname(os.path.abspath(__file__)), "front.py")
    process = subprocess.Popen(
        [sys.executable, front, json.dumps(ask)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=ask["daemon"],
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline() or b'{"error": "the front ended"}')
    if "error" in said:
        process.wait()
        raise error.Abort(said["error"].encode())
    if ui.verbose:
        ui.status(said["ready"].encode() + b"\n")
    if opts["pid_file"]:
        with open(opts["pid_file"], "wb") as pid_file:
            pid_file.write(b"%d\n" % process.pid)
    return None if ask["daemon"] else process.wait()


def _served(ui: Any, repo: Any, opts: Any) -> bytes:
    """One path: the repository's, or that of `/ = FOLDER/*` in a web-conf."""
    if not opts["web_conf"]:
        if repo is None:
            raise error.RepoError(b"there is no Mercurial repository here (.hg not found)")
        return bytes(repo.root)
    served = ui.copy()
    served.readconfig(opts["web_conf"], sections=[b"paths"], trust=True)
    paths = dict(served.configitems(b"paths"))
    folder = paths.get(b"/", b"")
    if len(paths) != 1 or not folder.endswith(b"*"):
        raise error.Abort(b"Trunkline serves one folder: [paths] needs `/ = FOLDER/*` alone")
    return bytes(folder.rstrip(b"/*"))


def _config(ui: Any, web_conf: bytes) -> list[str]:
    """What stood on the command line and in a web-conf, and stock's values of the knobs that
    differ.
    """
    given = {
        (section, name): value
        for section, name, value in ui.walkconfig()
        if ui.configsource(section, name) == b"--config"
    }
    if web_conf:
        file = ui.copy()
        file.readconfig(web_conf, sections=[b"web"], trust=True)
        given |= {(b"web", name): value for name, value in file.configitems(b"web")}
    for knob, value in STOCK_VALUES.items():
        if ui.configsource(*knob) in (b"", b"default", None):
            given[knob] = value
    if ui.debugflag:
        given[b"ui", b"debug"] = b"yes"
    given[OWN] = b"!"
    return [_text(b"%s.%s=%s" % (*knob, value)) for knob, value in given.items()]


def _text(value: bytes) -> str:
    return os.fsdecode(value)
