"""libsvn's values as Python's, and back. Strings are bytes: UTF-8 paths, any property value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trunkline.svn.repository.library import Pool, ffi, lib


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
    key = ffi.new("const void **")
    value = ffi.new("void **")
    index = lib.apr_hash_first(pool.handle, table)
    while index:
        lib.apr_hash_this(index, key, ffi.NULL, value)
        yield bytes(ffi.string(ffi.cast("const char *", key[0]))), value[0]
        index = lib.apr_hash_next(index)


def properties(table: Any, pool: Pool) -> dict[bytes, bytes]:
    """Of a hash of `svn_string_t`, in the order of their names."""
    found = {
        name: string(ffi.cast("svn_string_t *", value)) or b""
        for name, value in hash_items(table, pool)
    }
    return dict(sorted(found.items()))


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
