"""Imports the modules of a project: after all installed ones, and only while its own code runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.machinery import PathFinder
from threading import Lock
from typing import Final

_LOCK: Final = Lock()


def importable(folder: str | None) -> AbstractContextManager[None]:
    """Let Python import modules from a folder during the block; None adds no folder.

    The folder is the last one on `sys.path`, and is removed afterwards: a file that anybody writes into it
    must not replace a module that other code imports, not even one that is not installed.
    """
    return nullcontext() if folder is None else _last_on_path(folder)


@contextmanager
def _last_on_path(folder: str) -> Generator[None]:
    with _LOCK:
        sys.path.append(folder)
    try:
        yield
    finally:
        with _LOCK:
            places = [index for index, path in enumerate(sys.path) if path == folder]
            if places:  # otherwise the project's code has removed it
                del sys.path[places[-1]]  # an earlier one is the user's own choice


def hidden_module(module: str, folder: str | None) -> str | None:
    """Explain that an installed module is used instead of the folder's module of the same name.

    None if the folder has no such module, or it is the one that is used. Nothing is imported.
    """
    first = module.partition(".")[0]
    own = None if folder is None else PathFinder.find_spec(first, [folder])
    if own is None:
        return None
    used = _file_of(first)
    if used is None or (own.origin is not None and os.path.realpath(own.origin) == os.path.realpath(used)):
        return None
    return (
        f"the project's module {first!r} is not used, since {used or 'a built-in module'} has the same name, "
        "and installed modules come first; rename the project's module"
    )


def _file_of(name: str) -> str | None:
    """The file of the module that an import finds; '' for a built-in module, None if there is none."""
    if name in sys.builtin_module_names:
        return ""
    used = sys.modules.get(name)
    if used is not None:
        return getattr(used, "__file__", None)
    found = PathFinder.find_spec(name)
    return None if found is None else found.origin
