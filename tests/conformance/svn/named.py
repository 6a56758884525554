"""Trunkline, that takes everybody at his word: a name in `Authorization: Basic` is who asks.

For Subversion's own suite, whose users have passwords that aren't its subject. Serves the current
folder on the port `TRUNKLINE_SUITE_PORT`.
"""

from __future__ import annotations

import os
from base64 import b64decode

from granian.constants import Interfaces
from granian.server import Server

from trunkline.access.identity import Identity
from trunkline.config.settings import Settings
from trunkline.config.subversion import Subversion
from trunkline.hg.wire.answer import Answer
from trunkline.http.access_log import Line
from trunkline.http.app import App, throw_away
from trunkline.http.body import RequestBody
from trunkline.http.errand import Errand
from trunkline.http.made import Made
from trunkline.reply import Bytes
from trunkline.svn.repository.session import Rules

CHALLENGE = [(b"www-authenticate", b'Basic realm="Subversion Repository"')]
RULES = "svn-test-work/authz"


class NamedApp(App):
    async def _greet(self, errand: Errand, guest: str, line: Line) -> None:
        words = errand.visit.headers.get(b"authorization", b"").removeprefix(b"Basic ")
        errand.who = Identity(b64decode(words).partition(b":")[0].decode(), how="password")
        errand.is_greeted = True

    async def _subversion(
        self, errand: Errand, body: RequestBody, guest: str, line: Line
    ) -> Made | None:
        if b"authorization" in errand.visit.headers:
            return await super()._subversion(errand, body, guest, line)
        await throw_away(body, errand.visit, self._settings.limits.refused_push_bytes)
        return Made(Answer(401, list(CHALLENGE), Bytes(b"")))


def make_app() -> NamedApp:
    folder = os.getcwd()
    version = os.environ.get("TRUNKLINE_SUITE_HTTP", "v2")
    subversion = Subversion(transactions=f"{folder}/transactions", http_v2=version == "v2")
    app = NamedApp(Settings(paths=[folder], allow_write="anonymous", subversion=subversion))
    file = os.path.join(folder, RULES).encode()
    # As with SVNParentPath, a repository is named by its last name there.
    app._door.subversion._rules = lambda place: Rules(  # type: ignore[method-assign]
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
