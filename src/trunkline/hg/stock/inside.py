# Loaded by the installed `hg` (--config extensions.trunkline=THIS FILE), in its process and by its
# Python. It may import `mercurial` and the standard library, nothing of Trunkline.
"""what Trunkline's bridge needs inside the installed Mercurial

Adds the command `debugtrunkline`, which is `serve --stdio` that takes --config (the stock one takes
no option at all, so that it can be offered to strangers), and to its protocol one request: by
`trunkline` a warm process forgets all that it has read of the repository, and learns who asks, so
that hooks and `acl` see the HG_URL, REMOTE_USER and REMOTE_ADDR that they would see behind hgweb.
What a killed process left of a transaction is rolled back by the next push.
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

# Of the whole process, so that hooks which are programs have them, too; all other words of a
# request are only for hooks in Python, as behind hgweb.
_ENVIRONMENT = (b"REMOTE_USER", b"REMOTE_ADDR")
_NOT_ENVIRONMENT = (b"url", b"protocaps")
_url = [b""]
# Read at once, the changelog first, so that what is asked from here on is of one state.
_STATE = ("changelog", "_phasecache", "obsstore", "_bookmarks")


def reposetup(ui, repo):  # type: ignore[no-untyped-def]
    """A push after one that was killed rolls that back first, as `hg recover` does."""
    if not repo.local():
        return

    class recovering(repo.__class__):  # type: ignore[misc,name-defined]
        def transaction(self, desc, report=None):  # type: ignore[no-untyped-def]
            # Whoever begins one has the store's lock, so nobody else can be in the middle of it.
            if self.currenttransaction() is None and self.svfs.exists(b"journal"):
                self.recover()
            return super().transaction(desc, report=report)

    repo.__class__ = recovering


class pushres(wireprototypes.pushres):  # type: ignore[misc]
    """A bundle2 that asks for no reply has no result: it was taken, or an error is on its way."""

    def __init__(self, res, output):  # type: ignore[no-untyped-def]
        super().__init__(1 if res is None else res, output)


@command(b"debugtrunkline", [], b"")
def serve(ui, repo):  # type: ignore[no-untyped-def]
    """answer Trunkline's bridge on stdin and stdout"""
    ssh = wireprotoserver.sshv1protocolhandler
    client = ssh.client
    ssh.client = lambda self: _url[0] or client(self)
    wireprototypes.pushres = pushres
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
    said = {name: value for name, value in others.items() if name not in _NOT_ENVIRONMENT}
    repo.ui.environ = {**encoding.environ, **said}
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
