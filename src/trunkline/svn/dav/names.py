"""Names on the wire, spelled as the wire has them.

Source: subversion 1.14, include/svn_dav.h; RFC 3253, 4918.
"""

from __future__ import annotations

DAV = "DAV:"
SVN = "svn:"  # of reports and errors
NS_SVN = "http://subversion.tigris.org/xmlns/svn/"  # svn:* properties
NS_CUSTOM = "http://subversion.tigris.org/xmlns/custom/"  # all other properties
NS_DAV = "http://subversion.tigris.org/xmlns/dav/"
NS_APACHE = "http://apache.org/dav/xmlns"

XML_TYPE = b'text/xml; charset="utf-8"'
SVNDIFF_TYPE = b"application/vnd.svn-svndiff"
SKEL_TYPE = b"application/vnd.svn-skel"

XML_HEAD = b'<?xml version="1.0" encoding="utf-8"?>\n'

SPECIAL = b"!svn"  # the first name of URLs that aren't public

TOKEN = "http://subversion.tigris.org/xmlns/dav/svn/"
ALWAYS_CAPABLE = (
    "depth",
    "log-revprops",
    "atomic-revprops",
    "partial-replay",
    "inherited-props",
    "inline-props",
    "reverse-file-revs",
    "list",
    "ephemeral-txnprops",
    "svndiff1",
    "svndiff2",
    "put-result-checksum",
    "replay-rev-resource",
)
DAV_CLASSES = (
    "1,2",
    "version-control,checkout,working-resource",
    "merge,baseline,activity,version-controlled-collection",
)

# What clients say in their `DAV:` headers, and what the start-commit hook is told of it.
CLIENT_CAPABILITIES = {
    TOKEN + "mergeinfo": b"mergeinfo",
    TOKEN + "depth": b"depth",
    TOKEN + "log-revprops": b"log-revprops",
}
