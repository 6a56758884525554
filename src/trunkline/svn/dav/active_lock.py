"""A lock as WebDAV shows it. Source: RFC 4918, 14.1."""

from __future__ import annotations

import time

from trunkline.svn.dav.xml_out import escape, printable
from trunkline.svn.repository.locks import Lock


def active_lock(made: Lock) -> bytes:
    owner = b""
    if made.comment is not None:
        owner = b"<D:owner>%s</D:owner>\n" % printable(made.comment)
    timeout = b"Infinite"
    if made.expires:
        timeout = b"Second-%d" % max(0, made.expires // 1_000_000 - int(time.time()))
    return (
        b"<D:activelock>\n<D:locktype><D:write/></D:locktype>\n"
        b"<D:lockscope><D:exclusive/></D:lockscope>\n<D:depth>0</D:depth>\n%s"
        b"<D:timeout>%s</D:timeout>\n<D:locktoken>\n<D:href>%s</D:href>\n</D:locktoken>\n"
        b"</D:activelock>" % (owner, timeout, escape(made.token))
    )
