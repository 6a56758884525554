"""In a builder's process: the stream of an order, worked out anew from the request."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace

from trunkline.hg.stock.bridge import Bridge
from trunkline.hg.store.repository import Repository
from trunkline.hg.wire.answer import answer
from trunkline.hg.wire.recipe import Job, code_digest
from trunkline.hg.wire.served import Served
from trunkline.reply import Order, Stream
from trunkline.spool.builder import NotSame
from trunkline.work import Work

MAKER = f"{__name__}:remake"

code_digest()  # here, where it is done once for all builders


def remake(order: Order) -> Iterator[bytes]:
    """Raises: NotSame; StoreError, also while blocks are taken."""
    job = pickle.loads(order.job)
    assert isinstance(job, Job)
    request = replace(job.request, work=Work(sys.maxsize))  # the worker has kept to its limit
    repository = Repository(job.root, job.config)
    served = Served(job.root, job.config, Bridge(job.root, ()), repository)
    body = answer(served, request).body
    recipe = body.recipe if isinstance(body, Stream) else None
    if recipe is None or recipe.write().name != order.name:
        raise NotSame("the repository has moved on")
    assert isinstance(body, Stream)
    return body.blocks
