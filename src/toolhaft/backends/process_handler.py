"""How a handler is found again in another process: by its name, or by what it is made of.

Knows pickling and modules; does not know how the bytes travel.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, cast

from toolhaft.backends.process_channel import PROTOCOL, reason
from toolhaft.errors import DefinitionError

MAIN_TWIN: Final = "__mp_main__"
"""What a worker calls the host's script, as multiprocessing does: `if __name__ == "__main__"` stays unrun."""
MAIN_MARK: Final = b"_main__"
"""In the pickle of whatever needs the host's script."""

_FIX: Final = "or use isolation='thread'"

Main = tuple[str, str]
"""Where the host's script is: ("file", its path) or ("module", its name)."""
Surroundings = tuple[list[str], list[str], Main | None]
"""The host's `sys.path` without relative places, its `sys.argv`, and its script."""

is_loading_main = False
"""True in a worker while it runs the host's script to find a handler in it."""


def pack_handler(handler: Callable[..., object]) -> bytes:
    """What travels to a worker to find this handler again.

    Raises:
        DefinitionError: where it cannot travel, saying why and what to do.
    """
    written = io.BytesIO()
    try:
        _HandlerPickler(written, PROTOCOL).dump(handler)
        packed = written.getvalue()
        pickle.loads(packed)  # noqa: S301 -- written one line above
    except DefinitionError:
        raise
    except Exception as error:  # a reducer of somebody's object raises anything
        raise DefinitionError(
            f"the handler {_name(handler)} cannot travel to a process: {reason(error)}",
            place="isolation='process'",
            fix=f"make it a function at the top level of a module, {_FIX}",
        ) from error
    if MAIN_MARK in packed:
        _check_main(handler)
    return packed


class _HandlerPickler(pickle.Pickler):
    """Pickles functions by name, also one whose name leads to the tool that was made of it."""

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401 -- the many shapes of a reduction
        if not isinstance(obj, FunctionType):
            return NotImplemented
        module, name = obj.__module__, obj.__qualname__
        if "<lambda>" in name or "<locals>" in name:
            raise DefinitionError(
                f"{name} of {module} cannot travel to a process: no name leads to it from outside",
                place="isolation='process'",
                fix=f"define it with `def` at the top level of a module, {_FIX}",
            )
        for step, found in enumerate(_unwrap(_look_up(module, name))):
            if found is obj:
                return (find_function, (module, name, step)) if step else NotImplemented
        raise DefinitionError(
            f"{name} of {module} cannot travel to a process: that name leads to something else there",
            place="isolation='process'",
            fix=f"let a decorator set __wrapped__ (functools.wraps does), or rename the function, {_FIX}",
        )


def find_function(module: str, name: str, step: int) -> object:
    """The function under the wrappers that carry its name."""
    for at, found in enumerate(_unwrap(_look_up(module, name))):
        if at == step:
            return found
    raise AttributeError(f"{name} of {module} is wrapped otherwise than in the host")


def _look_up(module: str, name: str) -> object:
    found: object = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = cast("object", getattr(found, part, None))
    return found


def _unwrap(found: object) -> Iterator[object]:
    """What a name leads to, then what that wraps, and so on inwards."""
    for _ in range(20):  # wrappers may wrap each other in a ring
        yield found
        inner: object = getattr(found, "__wrapped__", None) or getattr(found, "handler", None)
        if inner is None:
            return
        found = inner


def _name(handler: object) -> str:
    kind = type(handler)
    return str(getattr(handler, "__qualname__", None) or f"of type {kind.__module__}.{kind.__qualname__}")


def _check_main(handler: object) -> None:
    if find_main() is None:
        raise DefinitionError(
            f"the handler {_name(handler)} cannot travel to a process: it is of '__main__', which is no file "
            "that a worker could load",
            place="isolation='process'",
            fix=f"define it in a module and import it from there, {_FIX}",
        )


def find_main() -> Main | None:
    """Where the host's script is; None in an interactive session, under `python -c` and the like."""
    module = sys.modules["__main__"]
    name = getattr(module.__spec__, "name", None)
    if isinstance(name, str) and name not in ("__main__", MAIN_TWIN):
        # `python -m package`: by custom its __main__.py runs without asking for its name
        return None if name.endswith(".__main__") else ("module", name)
    file = getattr(module, "__file__", None)
    if isinstance(file, str) and Path(file).is_file():
        return "file", str(Path(file).absolute())
    return None


def surroundings() -> Surroundings:
    """What a worker needs to import what the host can import."""
    # what a worker's script made comes back under that name
    sys.modules.setdefault(MAIN_TWIN, sys.modules["__main__"])
    places: list[str] = []
    for place in sys.path:
        with suppress(OSError, TypeError):  # the current directory is gone, or it is no path at all
            places.append(str(Path(place).absolute()))
    return places, list(sys.argv), find_main()


def load_main(main: Main) -> None:
    """Run the host's script under another name, so that what it defines is found under '__main__'."""
    global is_loading_main  # noqa: PLW0603 -- one script a process
    kind, where = main
    module = ModuleType(MAIN_TWIN)
    if kind == "file":
        loader = SourceFileLoader(MAIN_TWIN, where)
        code = loader.get_code(MAIN_TWIN)
        module.__file__ = where
    else:
        spec = find_spec(where)
        code = cast("SourceFileLoader", spec.loader).get_code(where) if spec else None
        module.__file__ = spec.origin if spec else None
        module.__package__ = spec.parent if spec else None
    if code is None:
        raise ImportError(f"the script {where} cannot be loaded")
    sys.modules["__main__"] = sys.modules[MAIN_TWIN] = module
    is_loading_main = True
    try:
        exec(code, module.__dict__)  # noqa: S102 -- the host's own script, as it runs there
    finally:
        is_loading_main = False
