"""Answers to commit streams: marked, kept as outcomes, and given again."""

from __future__ import annotations

import logging
from dataclasses import replace

from trunkline.errors import StoreError
from trunkline.reply import Bytes
from trunkline.svn.commit.names import OUTCOME_HEADER, PATH_HEADER
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.url import quote
from trunkline.svn.txn.outcome import Held, Outcome

log = logging.getLogger(__name__)


def with_header(answer: Answer, name: bytes, value: bytes) -> Answer:
    return replace(answer, headers=[*answer.headers, (name, value)])


def with_path(answer: Answer, path: bytes | None) -> Answer:
    return answer if path is None else with_header(answer, PATH_HEADER, quote(path))


def keep(held: Held, answer: Answer) -> Outcome:
    """That it can't be kept doesn't undo a commit: the intent still leads to it."""
    assert isinstance(answer.body, Bytes)
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers]
    outcome = Outcome(answer.status, headers, answer.body.data.decode("latin-1"))
    try:
        held.write(outcome)
    except StoreError as error:
        log.error("an outcome isn't kept: %s", error.text)
    return outcome


def repeated(outcome: Outcome) -> Answer:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in outcome.headers]
    answer = Answer(outcome.status, headers, Bytes(outcome.body.encode("latin-1")))
    return with_header(answer, OUTCOME_HEADER, b"repeated")
