"""Whether somebody may do something: the settings' rules and Mercurial's `[web]` together.

What any of the two refuses is refused. Reading needs no word of either where `anonymous_read` says
so; writing needs a word of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trunkline.access import web
from trunkline.access.identity import Identity
from trunkline.access.rules import Rules, Verdict, strictest
from trunkline.config.hgconfig import HgConfig

UNAUTHORIZED = 401
FORBIDDEN = 403


@dataclass(frozen=True, slots=True)
class Refusal:
    """A 401 names the ways to log in. Where there are none it is as stock has it: clients then say
    "authorization failed", and ask for no password in vain. `rule` is for the log.
    """

    status: int
    text: str
    rule: str = ""


READ = Refusal(UNAUTHORIZED, "read not authorized", "access, web.allow_read, web.deny_read")
PULL = Refusal(UNAUTHORIZED, "pull not authorized")
PUSH = Refusal(UNAUTHORIZED, "push not authorized", "access, web.allow-push, web.deny_push")
NEEDS_POST = Refusal(405, "push requires POST request")
NEEDS_SSL = Refusal(FORBIDDEN, "ssl required", "web.push_ssl")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted: `names` are the URL paths by which the repository is known; there may be two
    when a link leads to it, and the rules about both must allow it.
    """

    names: tuple[str, ...]
    who: Identity
    method: str
    scheme: str


@dataclass(frozen=True, slots=True)
class Judge:
    """`allow_anonymous`: the operator lets everyone write who may read, whatever is said.
    `has_logins`: clients can log in here.
    """

    rules: Rules
    allow_anonymous: bool
    has_logins: bool

    def why_not_read(self, config: HgConfig | None, asked: Asked) -> Refusal | None:
        """None: allowed. So with the others here. `config` is None of a Subversion repository,
        which has no `[web]`.
        """
        who = asked.who
        said = [self.rules.reading(name, who) for name in asked.names]
        if config is not None:
            said.append(web.reading(config, who.user))
        verdict = strictest(said)
        if verdict is Verdict.SILENT:
            verdict = Verdict.ALLOWED if who.user in self.rules.default else Verdict.LOGIN
        return self._refusal(READ, verdict, who)

    def why_not_pull(self, config: HgConfig, asked: Asked) -> Refusal | None:
        refusal = self.why_not_read(config, asked)
        if refusal is None and not web.may_pull(config):
            return self._refusal(PULL, Verdict.NOBODY, asked.who)
        return refusal

    def why_not_push(self, config: HgConfig, asked: Asked) -> Refusal | None:
        refusal = self.why_not_read(config, asked)
        if refusal is not None:
            return refusal
        if asked.method != "POST":
            return NEEDS_POST
        if self.allow_anonymous and asked.who.scope is None:
            return None
        if web.needs_ssl(config) and asked.scheme != "https":
            return NEEDS_SSL
        said = [self.rules.writing(name, asked.who) for name in asked.names]
        verdict = strictest([web.writing(config, asked.who.user), *said])
        if verdict is Verdict.SILENT:
            verdict = Verdict.NOBODY
        return self._refusal(PUSH, verdict, asked.who)

    def why_not_commit(self, asked: Asked, has_paths: bool) -> Refusal | None:
        """To a Subversion repository. `has_paths`: a file says who may write to which path, so
        where no rule is about the repository, each user is left to that.
        """
        refusal = self.why_not_read(None, asked)
        if refusal is not None:
            return refusal
        if self.allow_anonymous and asked.who.scope is None:
            return None
        verdict = strictest(self.rules.writing(name, asked.who) for name in asked.names)
        if verdict is Verdict.SILENT and has_paths:
            verdict = Verdict.LOGIN if asked.who.is_anonymous else Verdict.ALLOWED
        elif verdict is Verdict.SILENT:
            verdict = Verdict.NOBODY
        return self._refusal(PUSH, verdict, asked.who)

    def why_not_name(self, asked: Asked) -> Refusal | None:
        """As `why_not_read`, by what is known before anything on disk is looked at: of a name that
        no rule opens, nobody learns whether there is a repository.
        """
        verdict = strictest(self.rules.reading(name, asked.who) for name in asked.names)
        is_refused = verdict in (Verdict.LOGIN, Verdict.NOBODY)
        return self._refusal(READ, verdict, asked.who) if is_refused else None

    def _refusal(self, words: Refusal, verdict: Verdict, who: Identity) -> Refusal | None:
        if verdict is Verdict.ALLOWED:
            return None
        if not who.is_anonymous or (self.has_logins and verdict is Verdict.NOBODY):
            return replace(words, status=FORBIDDEN)
        return words
