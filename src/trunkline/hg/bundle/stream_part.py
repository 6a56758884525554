"""Whether and how a `getbundle` reply holds the store's own files ("stream clone").

Source: hg 7.2.4, bundle2.py `addpartbundlestream2`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from trunkline.config.hgconfig import HgConfig
from trunkline.errors import PeerError
from trunkline.hg.bundle.bundle2 import Part
from trunkline.hg.bundle.parts import markers_versions
from trunkline.hg.bundle.refusal import Refusal
from trunkline.hg.bundle.request import GetBundle
from trunkline.hg.bundle.stream import offers_stream_parts, stream_allowed
from trunkline.hg.bundle.stream_v2 import stream2_part
from trunkline.hg.bundle.stream_v3 import stream3_part
from trunkline.hg.store.view import View

BUGGY: Final = "the client seems buggy"

Writer = Callable[[View, HgConfig, bool], Part]
WRITERS: Final[dict[bytes, Writer]] = {b"v2": stream2_part, b"v3-exp": stream3_part}


def stream_part(view: View, request: GetBundle, config: HgConfig) -> Part | None:
    """Raises: PeerError as `stream_maker`; StoreError."""
    make = stream_maker(view, request, config)
    return None if make is None else make()


def stream_maker(view: View, request: GetBundle, config: HgConfig) -> Callable[[], Part] | None:
    """What lists the store's files and makes the part of them, which costs something.

    Raises: PeerError where a stream is asked for and can't be given.
    """
    if not request.stream:
        return None
    if not offers_stream_parts(config) or not stream_allowed(view.snapshot, config):
        raise Refusal("stream data requested but server does not allow this feature", BUGGY)
    write = choose_stream(request, config)
    if any(request.includepats) or any(request.excludepats):
        raise PeerError("server does not support narrow stream clones")
    return partial(write, view, config, includes_markers(view, request))


def choose_stream(request: GetBundle, config: HgConfig) -> Writer:
    """The newest version that both sides have. Raises: PeerError."""
    if b"stream" not in request.capabilities:
        raise Refusal(
            "stream data requested but supported streaming clone versions were not specified",
            BUGGY,
        )
    theirs = set(request.capabilities[b"stream"])
    ours = set(WRITERS)
    if not config.bool("experimental", "stream-v3"):
        ours.discard(b"v3-exp")
    common = theirs & ours
    if not common:
        shown = (b",".join(sorted(words)).decode("utf-8", "replace") for words in (ours, theirs))
        raise PeerError("no common supported version with the client: {}; {}".format(*shown))
    return WRITERS[max(common)]


def includes_markers(view: View, request: GetBundle) -> bool:
    """The obsstore goes along as a file, so the client must read its very format.

    A client that takes no markers does without them, as in a clone that isn't streamed. Not when
    hidden changesets go along: it would show them. Raises: PeerError.
    """
    markers = view.snapshot.obsmarkers
    if not markers:
        return False
    versions = markers_versions(request)
    if not versions and view.snapshot.view("visible").filtered:
        raise PeerError(
            "server has obsolescence markers, but client cannot receive them via stream clone"
        )
    return markers.data[0] in versions
