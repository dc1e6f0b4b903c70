"""Pickles a handler by its name, and finds it again in a worker process."""

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

from toolhaft.backends.process_channel import PROTOCOL, describe_error
from toolhaft.errors import DefinitionError

MAIN_ALIAS: Final = "__mp_main__"
"""The module name of the script in a worker, as in multiprocessing: `if __name__ == "__main__"` is false."""
MAIN_MARK: Final = b"_main__"
"""Occurs in every pickle that refers to the script."""

_FIX: Final = "or use isolation='thread'"

Main = tuple[str, str]
"""Where the script of the host is: ("file", its path) or ("module", its name)."""
ImportSettings = tuple[list[str], list[str], Main | None]
"""The `sys.path` of the host as absolute paths, its `sys.argv`, and its script."""

is_loading_main = False
"""True in a worker while it runs the script of the host to find a handler in it."""


def pack_handler(handler: Callable[..., object]) -> bytes:
    """Pickle a handler for a worker.

    Raises:
        DefinitionError: if it cannot be pickled; the message says why and what to do.
    """
    written = io.BytesIO()
    try:
        _HandlerPickler(written, PROTOCOL).dump(handler)
        packed = written.getvalue()
        pickle.loads(packed)  # noqa: S301 -- written one line above
    except DefinitionError:
        raise
    except Exception as error:  # pickling code of other people raises anything
        raise DefinitionError(
            f"the handler {_name(handler)} cannot be sent to a process: {describe_error(error)}",
            place="isolation='process'",
            fix=f"make it a function at the top level of a module, {_FIX}",
        ) from error
    if MAIN_MARK in packed:
        _check_main(handler)
    return packed


class _HandlerPickler(pickle.Pickler):
    """Pickles functions by name, even if the name now refers to the tool made from the function."""

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401 -- reductions have many forms
        if not isinstance(obj, FunctionType):
            return NotImplemented
        module, name = obj.__module__, obj.__qualname__
        if "<lambda>" in name or "<locals>" in name:
            raise DefinitionError(
                f"{name} of {module} cannot be sent to a process: it has no importable name",
                place="isolation='process'",
                fix=f"define it with `def` at the top level of a module, {_FIX}",
            )
        for step, found in enumerate(unwrap(_look_up(module, name))):
            if found is obj:
                return (find_function, (module, name, step)) if step else NotImplemented
        raise DefinitionError(
            f"{name} of {module} cannot be sent to a process: that name refers to something else",
            place="isolation='process'",
            fix=f"let a decorator set __wrapped__ (functools.wraps does), or rename the function, {_FIX}",
        )


def find_function(module: str, name: str, step: int) -> object:
    """The function inside the wrappers that have its name."""
    for at, found in enumerate(unwrap(_look_up(module, name))):
        if at == step:
            return found
    raise AttributeError(f"{name} of {module} is wrapped differently than in the host")


def _look_up(module: str, name: str) -> object:
    found: object = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = cast("object", getattr(found, part, None))
    return found


def unwrap(found: object, names: tuple[str, ...] = ("__wrapped__", "handler")) -> Iterator[object]:
    """An object, then what it has under the first of these names, and so on."""
    for _ in range(20):  # wrappers may form a cycle
        yield found
        found = next((inner for name in names if (inner := getattr(found, name, None)) is not None), None)
        if found is None:
            return


def _name(handler: object) -> str:
    kind = type(handler)
    return str(getattr(handler, "__qualname__", None) or f"of type {kind.__module__}.{kind.__qualname__}")


def _check_main(handler: object) -> None:
    if find_main() is None:
        raise DefinitionError(
            f"the handler {_name(handler)} cannot be sent to a process: it is in '__main__', which is not a "
            "file that a worker can load",
            place="isolation='process'",
            fix=f"define it in a module and import it from there, {_FIX}",
        )


def find_main() -> Main | None:
    """Where the script of the host is; None in an interactive session, with `python -c` and so on."""
    module = sys.modules["__main__"]
    name = getattr(module.__spec__, "name", None)
    if isinstance(name, str) and name not in ("__main__", MAIN_ALIAS):
        # `python -m package`: __main__.py usually runs without checking __name__
        return None if name.endswith(".__main__") else ("module", name)
    file = getattr(module, "__file__", None)
    if isinstance(file, str) and Path(file).is_file():
        return "file", str(Path(file).absolute())
    return None


def import_settings() -> ImportSettings:
    """What a worker needs to import the modules of the host."""
    # objects of the script come back from a worker under that name
    sys.modules.setdefault(MAIN_ALIAS, sys.modules["__main__"])
    paths: list[str] = []
    for path in sys.path:
        with suppress(OSError, TypeError):  # the current directory was removed, or it is not a path
            paths.append(str(Path(path).absolute()))
    return paths, list(sys.argv), find_main()


def load_main(main: Main) -> None:
    """Run the script of the host under another name, so that its handlers are found under '__main__'."""
    global is_loading_main  # noqa: PLW0603 -- one script per process
    kind, where = main
    module = ModuleType(MAIN_ALIAS)
    if kind == "file":
        loader = SourceFileLoader(MAIN_ALIAS, where)
        code = loader.get_code(MAIN_ALIAS)
        module.__file__ = where
    else:
        spec = find_spec(where)
        code = cast("SourceFileLoader", spec.loader).get_code(where) if spec else None
        module.__file__ = spec.origin if spec else None
        module.__package__ = spec.parent if spec else None
    if code is None:
        raise ImportError(f"the script {where} cannot be loaded")
    sys.modules["__main__"] = sys.modules[MAIN_ALIAS] = module
    is_loading_main = True
    try:
        exec(code, module.__dict__)  # noqa: S102 -- the script that the host runs
    finally:
        is_loading_main = False
