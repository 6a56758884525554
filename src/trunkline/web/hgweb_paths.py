"""Below a repository, where hgweb has pages and Trunkline has none."""

from __future__ import annotations

NOT_HERE = "of hgweb's pages there are none here but the repository's own"

# Source: hg 7.2.4, hgweb/webcommands.py, and the styles that it takes before a "-".
_NAMES = """
annotate archive atom-bookmarks atom-branches atom-changelog atom-filelog atom-log atom-tags
bookmarks branches changelog changeset comparison diff file filediff filelog graph help log manifest
raw-annotate raw-changeset raw-diff raw-file raw-filelog raw-log raw-rev rev rss-bookmarks
rss-branches rss-changelog rss-filelog rss-log rss-tags shortlog static summary tags
"""
NAMES = frozenset(_NAMES.split())
