"""A commit stream on its way into a transaction, and the commit at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from trunkline.svn.commit.record import (
    Copy,
    Data,
    Delete,
    End,
    LockToken,
    MakeDir,
    Operation,
    Props,
    Record,
    RevProp,
    Text,
)
from trunkline.svn.dav.exchange import Exchange
from trunkline.svn.dav.failure import SYSTEM_ERRORS, explain
from trunkline.svn.dav.kept import keep, with_path
from trunkline.svn.dav.merge import conflict, merged, release
from trunkline.svn.dav.request import Answer
from trunkline.svn.dav.tokens import Tokens
from trunkline.svn.dav.working import run_hook
from trunkline.svn.repository.commit import Committed, Transaction, purge
from trunkline.svn.repository.error import SvnError
from trunkline.svn.repository.fingerprint import of_transaction
from trunkline.svn.txn.filling import Filling
from trunkline.svn.txn.outcome import Held, Intent

AUTHOR = b"svn:author"


class Intake:
    """Nothing is left of it when the block ends without `commit`.

    Holds: one block of a text, lock tokens, and paths that a copy took the place of.
    `at` is the operation that is made just now, for errors, and `count` (from 0) which one it is.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._held = ExitStack()
        self._transaction: Transaction | None = None
        self._filling: Filling | None = None
        self._revprops: dict[bytes, bytes] = {}
        self._tokens: Tokens = []
        self.at: Operation | None = None
        self.count = -1

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    # -- what comes

    def take(self, records: Iterator[Record]) -> End:
        """Raises: SvnError, PeerError, and what says that the user may not."""
        for record in operations(records, self._note):
            if isinstance(record, End):
                self._begin()
                return record
            filling = self._begin()
            self.at, self.count = record, self.count + 1
            if isinstance(record, Text):
                filling.put(record, text_blocks(records))
            else:
                STEPS[type(record)](filling, record)
            self.at = None
        raise AssertionError("a stream that has no end isn't complete")

    def _note(self, record: RevProp | LockToken) -> None:
        if isinstance(record, LockToken):
            self._tokens.append((record.path, record.token))
            self._exchange.session.add_lock_tokens([(record.path, record.token)])
        elif record.name != AUTHOR:  # whoever a client says it is
            self._revprops[record.name] = record.value
            if self._transaction is not None:
                self._transaction.set_revprop(record.name, record.value)

    def _begin(self) -> Filling:
        if self._filling is None:
            exchange, session = self._exchange, self._exchange.session
            user, base = exchange.request.user, exchange.youngest
            if user is not None:
                self._revprops[AUTHOR] = user
            run_hook(exchange, base, self._revprops)
            self._transaction = self._open(base)
            self._filling = Filling(session, self._transaction, base, exchange.need)
        return self._filling

    def _open(self, base: int) -> Transaction:
        served, session = self._exchange.served, self._exchange.session
        live = served.area.live(served.path, session.uuid)
        live.sweep(lambda name: purge(session, name))
        transaction = Transaction(session, base, self._revprops)
        try:
            self._held.enter_context(live.filling(transaction.name))
        except BaseException:
            transaction.__exit__()
            raise
        self._held.push(transaction)  # goes before its name does
        return transaction

    # -- the end

    def commit(self, held: Held, end: End) -> Answer:
        """Raises: SvnError, of what isn't an outcome: nobody knows whether it is committed."""
        assert self._transaction is not None
        session = self._exchange.session
        mark = of_transaction(session, self._transaction)
        held.write(Intent(session.youngest(), mark.revprops, mark.changes))
        try:
            committed = self._transaction.commit()
        except SvnError as error:
            if error.code < SYSTEM_ERRORS:
                raise
            answer = with_path(explain(conflict(error), "commit stream"), error.path)
            keep(held, answer)
            return answer
        return self._committed(held, end, committed)

    def _committed(self, held: Held, end: End, committed: Committed) -> Answer:
        self._exchange.forget_youngest()
        answer = merged(self._exchange, committed)
        keep(held, answer)
        if end.release_locks:
            release(self._exchange, self._tokens)
        return answer


def operations(
    records: Iterator[Record], note: Callable[[RevProp | LockToken], None]
) -> Iterator[Operation | End]:
    for record in records:
        if isinstance(record, RevProp | LockToken):
            note(record)
        else:
            assert isinstance(record, Operation | End)
            yield record


def text_blocks(records: Iterator[Record]) -> Iterator[bytes]:
    for record in records:
        if not isinstance(record, Data):
            return
        yield record.block


STEPS: dict[type, Callable[[Filling, Any], None]] = {
    MakeDir: Filling.make_dir,
    Delete: Filling.delete,
    Copy: Filling.copy,
    Props: Filling.set_props,
}
