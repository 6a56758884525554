# Loaded by the installed `hg` (--config extensions.trunkline=THIS FILE), in its process and by its
# Python. It may import `mercurial` and the standard library, nothing of Trunkline.
"""what Trunkline's bridge needs inside the installed Mercurial

Adds the command `debugtrunkline`, which is `serve --stdio` that takes --config (the stock one takes
no option at all, so that it can be offered to strangers), and to its protocol one request: by
`trunkline` a warm process forgets all that it has read of the repository, and learns who asks, so
that hooks and `acl` see the HG_URL, REMOTE_USER and REMOTE_ADDR that they would see behind hgweb.
Stream clones are refused where they would carry changesets that the served view leaves out, and
`listkeys` names none of those, as a command or as a part of a bundle. What a bundle lacks because
its client asked for too little is told to that client; stock has a traceback for some of it.
"""

from __future__ import annotations

from mercurial import (
    bundle2,
    encoding,
    error,
    exchange,
    node,
    obsolete,
    phases,
    pushkey,
    registrar,
    repoview,
    streamclone,
    wireprotoserver,
    wireprototypes,
    wireprotov1server,
)

testedwith = b"6.1 6.3 6.5 6.9 7.0 7.1 7.2"
cmdtable = {}  # type: ignore[var-annotated]
command = registrar.command(cmdtable)

_ENVIRONMENT = (b"REMOTE_USER", b"REMOTE_ADDR")
_url = [b""]
# Read at once, the changelog first, so that what is asked from here on is of one state.
_STATE = ("changelog", "_phasecache", "obsstore", "_bookmarks")


@command(b"debugtrunkline", [], b"")
def serve(ui, repo):  # type: ignore[no-untyped-def]
    """answer Trunkline's bridge on stdin and stdout"""
    ssh = wireprotoserver.sshv1protocolhandler
    client = ssh.client
    ssh.client = lambda self: _url[0] or client(self)
    allowed = streamclone.allowservergeneration
    streamclone.allowservergeneration = lambda repo: (
        allowed(repo) and hides_nothing(repo)  # type: ignore[no-untyped-call]
    )
    pushkey.register(b"phases", phases.pushphase, served_roots)
    pushkey.register(b"obsolete", obsolete.pushmarker, served_markers)
    parts = exchange.getbundle2partsmapping
    parts[b"phases"] = phases_told(parts[b"phases"])  # type: ignore[no-untyped-call]
    bundle2.buildobsmarkerspart = markers_told(bundle2.buildobsmarkerspart)  # type: ignore[no-untyped-call]
    wireprotov1server.wireprotocommand(b"trunkline", b"*", permission=b"pull")(begin)
    for name, entry in wireprotov1server.commands.items():
        spec = b" ".join([name, entry.permission, *entry.args.split()])
        ui.fout.write(b"trunkline: command %s\n" % spec)
    ui.fout.write(b"trunkline: ready\n")
    ui.fout.flush()
    wireprotoserver.sshserver(ui, repo).serve_forever()


def begin(repo, proto, others):  # type: ignore[no-untyped-def]
    _url[0] = others.get(b"url", b"")
    for name in _ENVIRONMENT:
        encoding.environ.pop(name, None)
        if name in others:
            encoding.environ[name] = others[name]
    proto._protocaps = set(others.get(b"protocaps", b"").split())
    bare = repo.unfiltered()
    bare.invalidate(clearfilecache=True)
    bare.invalidatedirstate()
    for part in _STATE:
        getattr(bare, part)
    return wireprototypes.bytesresponse(b"fresh")


def hides_nothing(repo):  # type: ignore[no-untyped-def]
    """Stock looks at secret changesets only; hidden ones are as little for others' eyes."""
    view = repo.ui.config(b"server", b"view") or b"served"
    return not repoview.filterrevs(repo.unfiltered(), view) or repo.ui.configbool(
        b"server", b"uncompressedallowsecret"
    )


def served_roots(repo):  # type: ignore[no-untyped-def]
    """Stock names hidden draft roots as well."""
    keys, has = phases.listphases(repo), repo.changelog.hasnode
    return {key: keys[key] for key in keys if key == b"publishing" or has(node.bin(key))}


def served_markers(repo):  # type: ignore[no-untyped-def]
    """Stock gives every marker it has, also of changesets that the peer can't see."""
    if not (repo.obsstore and obsolete.isenabled(repo, obsolete.exchangeopt)):
        return {}
    changelog = repo.changelog
    markers = repo.obsstore.relevantmarkers(nodes=[changelog.node(rev) for rev in changelog])
    return obsolete._pushkeyescape(sorted(markers))


def phases_told(make):  # type: ignore[no-untyped-def]
    def told(*args, b2caps=None, **kwargs):  # type: ignore[no-untyped-def]
        """Stock aborts so only for who names no capability at all."""
        if kwargs.get("phases") and b"heads" not in (b2caps or {}).get(b"phases", ()):
            raise error.Abort(b"no common phases exchange method")
        return make(*args, b2caps=b2caps, **kwargs)

    return told


def markers_told(make):  # type: ignore[no-untyped-def]
    def told(*args, **kwargs):  # type: ignore[no-untyped-def]
        try:
            return make(*args, **kwargs)
        except ValueError as failure:
            raise error.Abort(*failure.args) from None

    return told
