"""`capabilities` and `hello`: what this server does, as sorted words.

Source: hg 7.2.4, wireprotov1server.py (_capabilities), wireprotoserver.py (addcapabilities) and
hgext/clonebundles.py; helptext/internals/wireprotocol.txt for the meaning of each word.
"""

from __future__ import annotations

from urllib.parse import quote_from_bytes

from trunkline.config.hgconfig import HgConfig
from trunkline.hg.bundle.stream import stream_allowed, stream_requirements
from trunkline.hg.store.snapshot import Snapshot
from trunkline.hg.wire.arguments import Arguments
from trunkline.hg.wire.bundle_capabilities import (
    bundle_capabilities,
    format_token,
    without_withheld,
)
from trunkline.hg.wire.exchange import Exchange
from trunkline.hg.wire.replies import Text
from trunkline.hg.wire.served import Served

COMMANDS = (b"branchmap", b"changegroupsubset", b"getbundle", b"known", b"lookup", b"pushkey")
CLONE_BUNDLES = {b"clonebundles", b"clonebundles_manifest"}
PUSH = (b"unbundle=HG10GZ,HG10BZ,HG10UN", b"unbundlehash")

# Bytes of one X-HgArg header. Stock says 1024, and a long `known` then takes hundreds of headers;
# Granian takes 100 of them. 4 KiB in each use up `limits.header_bytes` before that, and fit the
# 8 KiB that proxies allow for a line.
HTTP_HEADER_DEFAULT = 4096

# Words of the SSH transport, and of HTTP where ours replace them.
TRANSPORT_NAMES = frozenset(
    {b"batch", b"compression", b"httpheader", b"httpmediatype", b"httppostargs", b"protocaps"}
)
STREAM_NAMES = frozenset({b"stream", b"streamreqs"})


def capabilities(exchange: Exchange, _: Arguments) -> Text:
    return Text(words(exchange))


def hello(exchange: Exchange, _: Arguments) -> Text:
    return Text(b"capabilities: %s\n" % words(exchange))


def words(exchange: Exchange) -> bytes:
    """Without `httppostargs` for who may have to log in: to push, stock clients send arguments and
    bundle again then, and what is left of the two after the first time is nothing; they wait for
    ever. Source: hg 7.2.4, httppeer.py (_multifile) and url.py (_gen_sendfile).
    """
    served, snapshot = exchange.served, exchange.native
    may_post, is_near = not exchange.request.may_need_login, exchange.request.is_near
    if snapshot is None:
        return join(bridged_words(exchange))
    has_clone_bundles = exchange.state.has_clone_bundles

    def make() -> bytes:
        return join(native_words(served, snapshot, has_clone_bundles, may_post, is_near))

    return served.keep(f"capabilities {has_clone_bundles} {may_post} {is_near}", snapshot, make)


def join(found: list[bytes]) -> bytes:
    return b" ".join(sorted(found))


def native_words(
    served: Served, snapshot: Snapshot, has_clone_bundles: bool, may_post: bool, is_near: bool
) -> list[bytes]:
    config = served.config
    found = [*COMMANDS, *PUSH, *transport_words(served, may_post)]
    found += stream_words(snapshot, config, is_near)
    if config.bool("experimental", "bundle2-advertise", True):
        found.append(format_token(bundle_capabilities(config)))
    if has_clone_bundles:
        found += CLONE_BUNDLES
    return found


def stream_words(snapshot: Snapshot, config: HgConfig, is_near: bool) -> list[bytes]:
    """`stream` where a client needs to know nothing but revlogv1, else `streamreqs=`."""
    if not stream_allowed(snapshot, config):
        return []
    found = list(preferred(config, is_near))
    requirements = stream_requirements(snapshot.repository)
    if requirements <= {b"revlogv1"}:
        found.append(b"stream")
    else:
        found.append(b"streamreqs=" + b",".join(sorted(requirements)))
    return found


def preferred(config: HgConfig, is_near: bool) -> set[bytes]:
    return {b"stream-preferred"} if config.bool("server", "preferuncompressed", is_near) else set()


def transport_words(served: Served, may_post: bool) -> list[bytes]:
    config = served.config
    names = (chosen.engine.wire_name for chosen in served.engines.offered)
    found = [
        b"batch",
        b"httpheader=%d" % config.int("server", "maxhttpheaderlen", HTTP_HEADER_DEFAULT),
        b"httpmediatype=0.1rx,0.1tx,0.2tx",
        b"compression=" + b",".join(quote_from_bytes(name).encode() for name in names),
    ]
    if may_post and config.bool("experimental", "httppostargs", True):
        found.append(b"httppostargs")
    return found


def bridged_words(exchange: Exchange) -> list[bytes]:
    """What the installed Mercurial says over SSH, with our transport."""
    served = exchange.served
    found = set(transport_words(served, not exchange.request.may_need_login))
    for word in exchange.ask_bridge(b"capabilities", {}).split():
        name = word.partition(b"=")[0]
        if name == b"bundle2":
            found.add(without_withheld(word))
        elif name not in TRANSPORT_NAMES:
            found.add(word)
    if any(word.partition(b"=")[0] in STREAM_NAMES for word in found):
        found |= preferred(served.config, exchange.request.is_near)
    if exchange.state.has_clone_bundles:
        found |= CLONE_BUNDLES & served.bridge.commands().keys()
    return list(found)
