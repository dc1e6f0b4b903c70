"""Imports the modules of a project: after all installed ones, and only while its own code runs."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.machinery import PathFinder
from threading import Lock
from typing import Final

_LOCK: Final = Lock()
_USERS: Final[dict[str, int]] = {}
"""How many blocks use a folder that `importable` has added to `sys.path`."""


def importable(folder: str | None) -> AbstractContextManager[None]:
    """Let Python import modules from a folder during the block; None adds no folder.

    The folder is the last one on `sys.path`, and is removed afterwards: a file that anybody writes into it
    must not replace a module that other code imports, not even one that is not installed.
    """
    return nullcontext() if folder is None else _FolderOnPath(folder)


class _FolderOnPath(AbstractContextManager[None]):
    __slots__ = ("_folder", "_is_ours")

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        folder = self._folder
        with _LOCK:
            is_on_path = folder in sys.path
            # otherwise it is the user's own choice, such as an editable installation
            self._is_ours = folder in _USERS or not is_on_path
            if self._is_ours:
                _USERS[folder] = _USERS.get(folder, 0) + 1
                if not is_on_path:
                    sys.path.append(folder)

    def __exit__(self, *_: object) -> None:
        if not self._is_ours:
            return
        folder = self._folder
        with _LOCK:
            _USERS[folder] -= 1
            if not _USERS[folder]:
                del _USERS[folder]
                with suppress(ValueError):  # the project's code has removed it
                    sys.path.remove(folder)


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
