"""How large the files of a tree are, by a look at some of them."""

from __future__ import annotations

from collections import deque

from trunkline.svn.repository.nodes import Kind, Node, node_at
from trunkline.svn.repository.session import Session

LOOKED_AT = 200  # nodes, the topmost ones


def usual_size(session: Session, revision: int, path: bytes) -> int:
    """Bytes of a file on average; 0 where no file was seen. Costs a few milliseconds."""
    top = node_at(session, revision, path)
    waiting = deque([(top, top.kind())])
    sizes: list[int] = []
    for _ in range(LOOKED_AT):
        if not waiting:
            break
        node, kind = waiting.popleft()
        if kind is Kind.FILE:
            sizes.append(node.length())
        elif kind is Kind.DIR:
            room = LOOKED_AT - len(waiting)
            for name, below in node.entries()[: max(room, 0)]:
                inner = node.path.rstrip(b"/") + b"/" + name
                waiting.append((Node(session, node.root, inner), below))
    return sum(sizes) // len(sizes) if sizes else 0
