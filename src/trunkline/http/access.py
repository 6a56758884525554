"""Who may read, pull from and push to a repository: `[web]` of its configuration.

Everyone is anonymous as yet. Source: hg 7.2.4, hgweb/common.py (checkauthz), whose texts and
statuses these are, and scmutil.py (ismember). Like hgweb, the repository's own hgrc is believed
here whoever owns it: that person could hand out the repository by other means as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.config.hgconfig import HgConfig


@dataclass(frozen=True, slots=True)
class Refusal:
    """A 401 names no way to log in, as long as there is none: stock clients then say
    "authorization failed", and ask for no password in vain. `rule` is for the log.
    """

    status: int
    text: str
    rule: str = ""


READ = Refusal(401, "read not authorized", "web.allow_read, web.deny_read")
PULL = Refusal(401, "pull not authorized")
PUSH = Refusal(401, "push not authorized", "web.allow-push, web.deny_push")
NEEDS_POST = Refusal(405, "push requires POST request")
NEEDS_SSL = Refusal(403, "ssl required", "web.push_ssl")


def why_not_read(config: HgConfig, user: str | None = None) -> Refusal | None:
    """None: allowed. So with the others here."""
    deny = members(config, "deny_read", "deny-read")
    if deny and (not user or is_member(user, deny)):
        return READ
    allow = members(config, "allow_read", "allow-read")
    if allow and not is_member(user, allow):
        return READ
    return None


def why_not_pull(config: HgConfig, user: str | None = None) -> Refusal | None:
    refusal = why_not_read(config, user)
    if refusal is None and not may_pull(config):
        refusal = PULL
    return refusal


def why_not_push(
    config: HgConfig, method: str, scheme: str, allow_anonymous: bool, user: str | None = None
) -> Refusal | None:
    """`allow_anonymous`: the operator lets everyone write; who may not read still may not."""
    refusal = why_not_read(config, user)
    if refusal is not None:
        return refusal
    if method != "POST":
        return NEEDS_POST
    if allow_anonymous:
        return None
    if config.bool("web", "push_ssl", True, untrusted=True) and scheme != "https":
        return NEEDS_SSL
    deny = members(config, "deny_push", "deny-push")
    if deny and (not user or is_member(user, deny)):
        return PUSH
    allow = members(config, "allow-push", "allow_push")
    if not (allow and is_member(user, allow)):
        return PUSH
    return None


def members(config: HgConfig, *names: str) -> tuple[str, ...]:
    """The list under any spelling of its name. Stock knows one or two of them; a rule that an
    operator wrote is never passed over for a dash."""
    return tuple(item for name in names for item in config.list("web", name, untrusted=True))


def is_member(user: str | None, names: tuple[str, ...]) -> bool:
    """`*` counts only alone, as in Mercurial."""
    return set(names) == {"*"} or (user is not None and user in names)


def may_pull(config: HgConfig) -> bool:
    return all(
        config.bool("web", name, True, untrusted=True) for name in ("allow-pull", "allowpull")
    )
