"""Who may read, pull from and push to a repository by Mercurial's own `[web]`.

Source: hg 7.2.4, hgweb/common.py (checkauthz) and scmutil.py (ismember); `hg help config.web`. Like
hgweb, the repository's own hgrc is believed here whoever owns it: that person could hand out the
repository by other means as well.
"""

from __future__ import annotations

from trunkline.access.rules import Verdict
from trunkline.config.hgconfig import HgConfig


def reading(config: HgConfig, user: str) -> Verdict:
    """`user` is "" for who isn't logged in; so with the others here."""
    return judge(
        user,
        deny=members(config, "deny_read", "deny-read"),
        allow=members(config, "allow_read", "allow-read"),
    )


def writing(config: HgConfig, user: str) -> Verdict:
    """Silent is a no here, unless a rule allows it."""
    return judge(
        user,
        deny=members(config, "deny_push", "deny-push"),
        allow=members(config, "allow-push", "allow_push"),
    )


def judge(user: str, deny: tuple[str, ...], allow: tuple[str, ...]) -> Verdict:
    if deny and (not user or is_member(user, deny)):
        return Verdict.NOBODY if is_member("", deny) else Verdict.LOGIN
    if not allow:
        return Verdict.SILENT
    return Verdict.ALLOWED if is_member(user, allow) else Verdict.LOGIN


def may_pull(config: HgConfig) -> bool:
    return all(
        config.bool("web", name, True, untrusted=True) for name in ("allow-pull", "allowpull")
    )


def needs_ssl(config: HgConfig) -> bool:
    return config.bool("web", "push_ssl", True, untrusted=True)


def members(config: HgConfig, *names: str) -> tuple[str, ...]:
    """The list under any spelling of its name. Stock knows one or two of them; a rule that an
    operator wrote is never passed over for a dash."""
    return tuple(item for name in names for item in config.list("web", name, untrusted=True))


def is_member(user: str, names: tuple[str, ...]) -> bool:
    """`*` counts only alone, as in Mercurial, and then it is everybody, logged in or not."""
    return set(names) == {"*"} or (bool(user) and user in names)
