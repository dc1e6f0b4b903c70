"""Exceptions that a worker sends to the host: by name and text, of a closed list of classes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from toolhaft import errors
from toolhaft.backends.process_channel import describe_error
from toolhaft.errors import ToolError, ToolExecutionError, ToolhaftError


class WorkerError(ToolExecutionError):
    """A handler in a worker process raised an exception that has no listed class, or its process died."""


IsData = Callable[[object], bool]
"""True for what can be sent."""


def _classes(module: object, root: type[Exception]) -> dict[str, type[Exception]]:
    found = vars(module)
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and issubclass(kind, root) and not issubclass(kind, ExceptionGroup)
    }


_CLASSES: Final = {**_classes(builtins, Exception), **_classes(errors, ToolhaftError)}
_TOO_GENERAL: Final = (Exception, errors.ToolhaftError, errors.ToolError)


def error_parts(error: BaseException, is_data: IsData) -> list[object]:
    """The name of an exception, its text, its arguments and its attributes, as far as they are data.

    Its class is its own, or the nearest one of the list, if that can hold its text.
    """
    text = describe_error(error)
    for kind in type(error).__mro__:
        is_own = kind is type(error)
        if kind in _TOO_GENERAL and not is_own:
            break
        if _CLASSES.get(kind.__name__) is kind:
            is_named = is_own or issubclass(kind, ToolhaftError)  # others have their own name in the text
            own_text = _text(error) if is_named else text
            args: list[object] = _arguments(error, is_data) if is_own else [own_text]
            made = _made(kind.__name__, args, {})
            if made is not None and _text(made) == own_text:
                state = {name: value for name, value in vars(error).items() if is_data(value)}
                return [kind.__name__, text, args, state]
    if issubclass(type(error), ToolError):
        return [ToolExecutionError.__name__, text, [_text(error) or text], {}]
    return ["", text, [], {}]


def error_of(parts: list[object]) -> Exception:
    """The exception for these parts; a WorkerError if its class is not in the list."""
    name, text, args, state = cast("list[Any]", parts)
    made = _made(name, args, state)
    return WorkerError(str(text)) if made is None else made


def _text(error: BaseException) -> str | None:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 -- its own __str__ failed
        return None


def _arguments(error: BaseException, is_data: IsData) -> list[object]:
    if isinstance(error, OSError) and error.filename is not None and error.filename2 is None:
        return [error.errno, error.strerror, error.filename]
    args = list(cast("tuple[object, ...]", error.args))
    return args if is_data(args) and not isinstance(error, ToolhaftError) else [_text(error)]


def _made(name: str, args: list[object], state: Mapping[str, object]) -> Exception | None:
    """An exception of a listed class, None if its class is not listed or does not take these arguments."""
    try:
        made = _CLASSES[name](*args)
        for attribute, value in state.items():
            if not attribute.startswith("_") and not callable(getattr(made, attribute, None)):
                setattr(made, attribute, value)
    except Exception:  # noqa: BLE001 -- arguments that the class does not take
        return None
    return made
