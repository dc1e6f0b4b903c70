"""Lets a package name its public parts without importing them until one is asked for.

Knows no tools, schemas or rooms.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` would cost more than all that this file does
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names live in the given submodules."""

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = f"{package}.{home}"
        __import__(module)
        value = getattr(sys.modules[module], name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(homes)

    return load, names
