"""Lets a package export names from its submodules without importing them until they are used."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing `typing` would take longer than this whole module
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


def lazy_exports(
    package: str, homes: Mapping[str, str], *, optional: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    `homes` maps each name to the submodule that defines it; a name that is mapped to itself is a submodule.

    The `optional` names are functions that need an extra. Without it they can be imported, as
    `from package import *` does, and raise the ImportError when they are called.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        module = f"{package}.{home}"
        try:
            __import__(module)
        except ImportError as error:
            if name in optional:
                return _missing_extra(error)
            raise
        value = sys.modules[module] if home == name else getattr(sys.modules[module], name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(homes)

    return load, names


def _missing_extra(error: ImportError) -> Callable[..., object]:
    def fail(*_args: object, **_kwargs: object) -> object:
        raise error

    return fail
