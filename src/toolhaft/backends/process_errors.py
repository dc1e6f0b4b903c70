"""Exceptions that a worker sends to the host: by name and text, of a closed list of classes."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Final, cast

from toolhaft import errors
from toolhaft.backends.process_channel import describe_error, format_trace
from toolhaft.backends.process_data import DataError, TypeFinder, decode, encode
from toolhaft.errors import ToolExecutionError, ToolhaftError


def _classes(module: object, root: type[Exception]) -> dict[str, type[Exception]]:
    found = vars(module)
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and issubclass(kind, root) and not issubclass(kind, ExceptionGroup)
    }


_CLASSES: Final = {**_classes(builtins, Exception), **_classes(errors, ToolhaftError)}
_TOO_GENERAL: Final = (Exception, errors.ToolhaftError, errors.ToolError)


class ErrorData:
    """Writes an exception as its name, its text, its arguments and its attributes, and makes one of them."""

    @staticmethod
    def write(error: BaseException, /) -> list[object]:
        """The exception as data: its own class, or the nearest one of the list, if that can hold its text."""
        text = describe_error(error)
        for kind in type(error).__mro__:
            is_own = kind is type(error)
            if kind in _TOO_GENERAL and not is_own:
                break
            if _CLASSES.get(kind.__name__) is kind:
                is_named = is_own or issubclass(kind, ToolhaftError)  # others have their own name in the text
                args: list[object] = _arguments(error) if is_own else [_text(error) if is_named else text]
                made = _made(kind.__name__, args, {})
                if made is not None and _text(made) == (_text(error) if is_named else text):
                    return [kind.__name__, text, args, _attributes(error)]
        return ["", text, [], {}]

    @staticmethod
    def read(parts: list[object], /) -> Exception:
        """The exception for this data; a ToolExecutionError with its text if its class is not in the list."""
        name, text, args, state = cast("list[Any]", parts)
        made = _made(name, args, state)
        return ToolExecutionError(str(text)) if made is None else made


def _text(error: BaseException) -> str | None:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- its own __str__ failed
        return None


def _arguments(error: BaseException) -> list[object]:
    if isinstance(error, OSError) and error.filename is not None and error.filename2 is None:
        return [error.errno, error.strerror, error.filename]
    if isinstance(error, ToolhaftError):
        return [_text(error)]
    args = list(cast("tuple[object, ...]", error.args))
    return args if _is_data(args) else [_text(error)]


def _attributes(error: BaseException) -> dict[str, object]:
    return {name: value for name, value in vars(error).items() if _is_data(value)}


def _is_data(value: object) -> bool:
    try:
        encode(value, ERRORS)
    except Exception:  # noqa: BLE001 -- objects of other people raise anything
        return False
    return True


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


ERRORS: Final = ErrorData()


def encode_error(error: BaseException, *, with_trace: bool = False) -> bytes:
    """An exception for the host, with its trace as text."""
    described = error if isinstance(error, Exception) else ToolExecutionError(describe_error(error))
    parts = ErrorData.write(described)
    try:
        return encode([parts, format_trace(error) if with_trace else ""], ERRORS)
    except DataError:  # its arguments are too large
        return encode([["", describe_error(error), cast("object", []), cast("object", {})], ""], ERRORS)


def decode_error(payload: bytes | bytearray, find: TypeFinder) -> Exception:
    """The exception that a worker sent; a ToolExecutionError if it is not of a listed class, or not valid."""
    try:
        parts, trace = cast("list[Any]", decode(payload, find, ERRORS))
        error = ErrorData.read(parts)
    except (DataError, TypeError, ValueError) as problem:
        return ToolExecutionError(f"the process sent an error that is not valid: {problem}")
    if trace:
        error.add_note(f"In the worker process:\n{trace}")
    return error
