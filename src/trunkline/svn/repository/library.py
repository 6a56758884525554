"""libsvn, bound with cffi: loaded once a process, when the first repository is opened.

The libraries are those that the `subvertpy` wheel carries, so nothing has to be installed or
compiled. Why not subvertpy's own interface: docs/notes/libsvn.md.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from trunkline.errors import SettingsError
from trunkline.svn.repository.declarations import DECLARATIONS
from trunkline.svn.repository.error import CANCELLED, SvnError

CACHE_BYTES = 32 * 1024 * 1024  # of each worker, for all repositories

log = logging.getLogger(__name__)

_raised = threading.local()
_making = threading.RLock()

Value = TypeVar("Value")


def once(make: Callable[[], Value]) -> Callable[[], Value]:
    """Made by whichever thread asks first, while the others wait. `functools.cache` would let two
    make one each and drop one of them, which C may point to by then.
    """
    kept: list[Value] = []

    @wraps(make)
    def made() -> Value:
        if not kept:
            with _making:
                if not kept:
                    kept.append(make())
        return kept[0]

    return made


def library_path() -> str:
    """subvertpy's own module: its symbols are also those of the libraries that it brought along.

    Raises: SettingsError.
    """
    try:
        module = importlib.import_module("subvertpy.repos")
    except ImportError as error:
        raise SettingsError(
            f"Subversion repositories need the package subvertpy: {error}"
        ) from None
    return str(module.__file__)


@once
def declare() -> Any:
    """The types, by cffi: importing it and reading the declarations takes 0.1 s, which nobody
    spends who has no such repository.
    """
    import cffi

    declared = cffi.FFI()
    declared.cdef(DECLARATIONS)
    return declared


@once
def load() -> Any:
    """The functions, by name: a handle's symbols are those of all that it depends on."""
    try:
        found: Any = ffi.dlopen(library_path())
    except OSError as error:
        raise SettingsError(f"libsvn can't be loaded: {error}") from None
    found.apr_initialize()
    pool = found.svn_pool_create_ex(ffi.NULL, ffi.NULL)  # for the process's life
    _check(found, found.svn_dso_initialize2())
    found.svn_utf_initialize2(1, pool)  # paths of files are UTF-8, whatever the locale says
    settings = ffi.new("svn_cache_config_t *")
    settings.cache_size = CACHE_BYTES
    settings.file_handle_count = 16
    found.svn_cache_config_set(settings)
    _check(found, found.svn_fs_initialize(pool))
    # Else what libsvn finds impossible ends the process.
    found.svn_error_set_malfunction_handler(found.svn_error_raise_on_malfunction)
    return found


class _Lazy:
    """`lib.name` loads the library when it is first used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self.__load = load

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__load(), name)
        setattr(self, name, value)
        return value


ffi: Any = _Lazy(declare)
lib: Any = _Lazy(load)


def check(error: Any) -> None:
    """Raises: SvnError, or what one of our callbacks has raised."""
    if error:
        _check(lib, error)


def _check(library: Any, error: Any) -> None:
    if not error:
        return
    try:
        found = read_error(library, error)
    finally:
        library.svn_error_clear(error)
    ours, _raised.error = getattr(_raised, "error", None), None
    if ours is not None and CANCELLED in found.codes:
        raise ours
    raise found


def read_error(library: Any, error: Any) -> SvnError:
    """Its own words; the errors below it are said where they are the cause in a person's eyes."""
    buffer = ffi.new("char[]", 512)
    error = library.svn_error_purge_tracing(error)
    text = ffi.string(library.svn_err_best_message(error, buffer, 512))
    codes, child = [error.apr_err], error.child
    while child:
        codes.append(child.apr_err)
        child = child.child
    return SvnError(error.apr_err, text.decode("utf-8", "replace"), tuple(codes))


def callback(signature: str) -> Callable[[Callable[..., None]], Any]:
    """The name stands for what gives a C function of ours, made when first asked for; what it
    raises comes out of the `check` around it.
    """

    def decorate(function: Callable[..., None]) -> Any:
        @wraps(function)
        def guarded(*arguments: Any) -> Any:
            try:
                function(*arguments)
            except BaseException as error:
                _raised.error = error
                return lib.svn_error_create(CANCELLED, ffi.NULL, ffi.NULL)
            return ffi.NULL

        return once(lambda: ffi.callback(signature, guarded))

    return decorate


@once
def warning_callback() -> Any:
    """For what goes wrong beside an operation that goes on, such as a cache of representations
    that two processes create at once. Without it, libsvn ends the process.
    """

    @ffi.callback("void(void *, svn_error_t *)")  # type: ignore[untyped-decorator]
    def warn(_: Any, error: Any) -> None:
        log.warning("libsvn: %s", read_error(lib, error))

    return warn


class Pool:
    """An APR pool: memory of libsvn's, let go of at the end of the block."""

    __slots__ = ("handle", "kept")

    def __init__(self, parent: Pool | None = None) -> None:
        self.handle: Any
        self.handle = lib.svn_pool_create_ex(parent.handle if parent else ffi.NULL, ffi.NULL)
        self.kept: list[Any] = []  # Python's own, that C points to

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def clear(self) -> None:
        lib.apr_pool_clear(self.handle)
        self.kept.clear()

    def destroy(self) -> None:
        if self.handle:
            lib.apr_pool_destroy(self.handle)
            self.handle = None
        self.kept.clear()

    def baton(self, value: object) -> Any:
        """A `void *` that stands for `value` while the pool lives."""
        handle = ffi.new_handle(value)
        self.kept.append(handle)
        return handle
