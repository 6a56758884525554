"""Arguments of each command on the SSH transport, which needs to know them to frame them.

Source: hg 7.2.4, mercurial/wireprotov1server.py and the hgext modules named; "*" takes any others.
"""

from __future__ import annotations

import re

from trunkline.errors import PeerError

SPECS: dict[bytes, bytes] = {
    b"batch": b"cmds *",
    b"between": b"pairs",
    b"branches": b"nodes",
    b"branchmap": b"",
    b"capabilities": b"",
    b"changegroup": b"roots",
    b"changegroupsubset": b"bases heads",
    b"clonebundles": b"",
    b"clonebundles_manifest": b"",
    b"debugwireargs": b"one two *",
    b"get_cached_bundle_inline": b"path",
    b"getbundle": b"*",
    b"heads": b"",
    b"hello": b"",
    b"known": b"nodes *",
    b"listkeys": b"namespace",
    b"lookup": b"key",
    b"protocaps": b"caps",
    b"pushkey": b"namespace key old new",
    b"stream_out": b"",
    b"unbundle": b"heads",
    # hgext/largefiles
    b"getlfile": b"sha",
    b"lheads": b"",
    b"statlfile": b"sha",
    # hgext/narrow
    b"narrow_widen": b"*",
    # hgext/fastannotate
    b"getannotate": b"path lastnode",
}

_NAME = re.compile(rb"[A-Za-z0-9_.:-]+\Z")


def format_request(
    command: bytes, arguments: dict[bytes, bytes], spec: bytes | None = None
) -> bytes:
    """One request; `spec` is given for a command that no peer may name.

    Wire:   command LF, then for each argument: name SP length LF value; "*" SP count LF stands
            before the free ones. No name may hold a space or line feed: it would be taken for the
            next line.
    Raises: PeerError for an unknown command, a missing argument, a name that can't be sent.
    """
    spec = SPECS.get(command) if spec is None else spec
    if spec is None:
        raise PeerError(f"no such command: {command[:60].decode('latin-1')!r}", 404)
    parts = [command, b"\n"]
    free = dict(arguments)
    names = spec.split()
    for name in names:
        if name == b"*":
            continue
        try:
            value = free.pop(name)
        except KeyError:
            raise PeerError(f"{command.decode()}: argument {name.decode()!r} is missing") from None
        parts += [b"%s %d\n" % (name, len(value)), value]
    if b"*" in names:
        parts.append(b"* %d\n" % len(free))
        for name, value in free.items():
            if not _NAME.match(name):
                raise PeerError(f"not a name of an argument: {name[:60].decode('latin-1')!r}")
            parts += [b"%s %d\n" % (name, len(value)), value]
    return b"".join(parts)
