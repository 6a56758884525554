"""What holds about access now: the settings file's `[auth]`, `[groups]` and `[[access]]`, read
again when it changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trunkline.access.gate import Gate
from trunkline.access.judge import Judge
from trunkline.access.rules import Rules
from trunkline.access.watched import Watched
from trunkline.config.auth import Auth
from trunkline.config.settings import Settings, settings_of


@dataclass(frozen=True, slots=True)
class Standing:
    """One state. The same object comes back as long as nothing has changed."""

    auth: Auth
    gate: Gate
    judge: Judge


class Current:
    """One for each worker. Thread-safe."""

    def __init__(self, settings: Settings, path: str = "") -> None:
        """`path`: of the settings file, if there is one. Raises: SettingsError."""
        self._settings = settings
        self._standing: Standing | None = None
        self.get: Callable[[], Standing]
        if path:
            self.get = Watched(path, lambda data: self._make(settings_of(path, data))).get
        else:
            standing = self._make(settings)
            self.get = lambda: standing

    def _make(self, settings: Settings) -> Standing:
        """What clients have proven, and how often they failed, outlives a change of the rules."""
        before = self._standing
        auth = settings.auth
        gate = before.gate if before and before.auth == auth else Gate(auth)
        rules = Rules(settings.access, settings.groups, auth.anonymous_read)
        allow_anonymous = self._settings.allow_write == "anonymous"
        self._standing = Standing(auth, gate, Judge(rules, allow_anonymous, auth.has_logins))
        return self._standing
