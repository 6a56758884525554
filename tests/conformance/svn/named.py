"""Trunkline, that takes everybody at his word: a name in `Authorization: Basic` is who asks.

For Subversion's own suite, whose users have passwords that aren't its subject. Serves the current
folder on the port `TRUNKLINE_SUITE_PORT`.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable

from granian.constants import Interfaces
from granian.server import Server

from trunkline.config.settings import Settings, Subversion
from trunkline.hg.wire.answer import Answer
from trunkline.http.app import App, Made
from trunkline.http.subversion import Caller, SvnPlace
from trunkline.http.visit import Visit
from trunkline.reply import Bytes
from trunkline.svn.repository.session import Rules

CHALLENGE = [(b"www-authenticate", b'Basic realm="Subversion Repository"')]
RULES = "svn-test-work/authz"


class NamedApp(App):
    def caller(self, visit: Visit) -> Caller:
        words = visit.headers.get(b"authorization", b"").removeprefix(b"Basic ")
        user = b64decode(words).partition(b":")[0].decode()
        return Caller(user, may_write=True, has_logins=True)

    def _work_svn(self, visit: Visit, place: SvnPlace, blocks: Iterable[bytes]) -> Made:
        if b"authorization" not in visit.headers:
            return Made(Answer(401, list(CHALLENGE), Bytes(b"")))
        return super()._work_svn(visit, place, blocks)


def make_app() -> NamedApp:
    folder = os.getcwd()
    version = os.environ.get("TRUNKLINE_SUITE_HTTP", "v2")
    subversion = Subversion(transactions=f"{folder}/transactions", http_v2=version == "v2")
    app = NamedApp(Settings(paths=[folder], allow_write="anonymous", subversion=subversion))
    file = os.path.join(folder, RULES).encode()
    # As with SVNParentPath, a repository is named by its last name there.
    app._svn_door._rules = lambda place: Rules(  # type: ignore[method-assign]
        file, os.path.basename(place.path).encode()
    )
    return app


if __name__ == "__main__":
    Server(
        "tests.conformance.svn.named:make_app",
        address="127.0.0.1",
        port=int(os.environ["TRUNKLINE_SUITE_PORT"]),
        interface=Interfaces.ASGI,
        factory=True,
        log_enabled=False,
    ).serve()
