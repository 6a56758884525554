from __future__ import annotations

from trunkline.http.quick import KNOWN_LIMIT, Quick


def test_remembers_a_bounded_number() -> None:
    quick = Quick()
    keys = [((str(number),), b"heads") for number in range(KNOWN_LIMIT + 10)]
    for key in keys:
        assert key not in quick
        quick.add(key)
    assert len(quick._known) == KNOWN_LIMIT
    assert keys[9] not in quick
    assert keys[10] in quick
