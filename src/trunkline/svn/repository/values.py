"""libsvn's values as Python's, and back. Strings are bytes: UTF-8 paths, any property value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from trunkline.svn.repository.library import Pool, ffi, lib

USUAL = (b"svn:author", b"svn:date", b"svn:log")  # what most revisions have, and no more


def text(pointer: Any) -> bytes | None:
    """Of a `char *`."""
    return bytes(ffi.string(pointer)) if pointer else None


def string(pointer: Any) -> bytes | None:
    """Of an `svn_string_t *`."""
    return ffi.buffer(pointer.data, pointer.len)[:] if pointer else None


def new_string(value: bytes | None, pool: Pool) -> Any:
    if value is None:
        return ffi.NULL
    return lib.svn_string_ncreate(value, len(value), pool.handle)


def new_text(value: bytes | None, pool: Pool) -> Any:
    """A `char *` that lives as long as the pool. What C needs only during a call can be passed
    as Python's bytes."""
    return ffi.NULL if value is None else lib.apr_pstrmemdup(pool.handle, value, len(value))


def optional(value: bytes | None) -> Any:
    return ffi.NULL if value is None else value


def hash_items(table: Any, pool: Pool) -> Iterator[tuple[bytes, Any]]:
    """Keys are strings, values `void *`."""
    if not table:
        return
    index = lib.apr_hash_first(pool.handle, table)
    while index:
        yield bytes(ffi.string(lib.apr_hash_this_key(index))), lib.apr_hash_this_val(index)
        index = lib.apr_hash_next(index)


@cache
def ctype(name: str) -> Any:
    """A C type that is parsed once."""
    return ffi.typeof(name)


def properties(table: Any, pool: Pool) -> dict[bytes, bytes]:
    """Of a hash of `svn_string_t`, in the order of their names."""
    if not table:
        return {}
    usual = named_properties(table, USUAL)
    if len(usual) == lib.apr_hash_count(table):
        return usual
    kind = ctype("svn_string_t *")
    found = {name: string(ffi.cast(kind, value)) or b"" for name, value in hash_items(table, pool)}
    return dict(sorted(found.items()))


def named_properties(table: Any, names: Iterable[bytes]) -> dict[bytes, bytes]:
    """Those of these names that are there."""
    found: dict[bytes, bytes] = {}
    for name in names if table else ():
        value = lib.apr_hash_get(table, name, len(name))
        if value:
            found[name] = ffi.buffer(value.data, value.len)[:]
    return found


def new_properties(values: Mapping[bytes, bytes], pool: Pool) -> Any:
    table = lib.apr_hash_make(pool.handle)
    for name, value in values.items():
        lib.apr_hash_set(table, new_text(name, pool), -1, new_string(value, pool))
    return table


def text_array(values: Iterable[bytes], pool: Pool) -> Any:
    array = lib.apr_array_make(pool.handle, 8, ffi.sizeof("char *"))
    for value in values:
        ffi.cast("char **", lib.apr_array_push(array))[0] = new_text(value, pool)
    return array


def revision_array(values: Iterable[int], pool: Pool) -> Any:
    array = lib.apr_array_make(pool.handle, 8, ffi.sizeof("long"))
    for value in values:
        ffi.cast("long *", lib.apr_array_push(array))[0] = value
    return array
