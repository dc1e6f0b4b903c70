"""What a worker sends to the host: JSON text and bytes, so that reading it runs no code that a worker chose.

A value that JSON does not have is an object with the single key "$": a tag and its parts. Bytes and long
texts follow the JSON text, in the order of their tags. The host makes objects only of types that it knows.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from importlib import import_module
from pathlib import Path, PurePath
from struct import Struct
from typing import Any, Final, TypeAlias, cast

from toolhaft.backends.process_channel import describe_error, format_trace
from toolhaft.backends.process_errors import error_of, error_parts
from toolhaft.backends.process_types import object_state, restore_object, type_name
from toolhaft.errors import ToolExecutionError

MAX_TEXT_BYTES: Final = 64 * 1024**2
"""Of the JSON text, which takes many times its size once it is read."""
MAX_MESSAGE_BYTES: Final = 512 * 1024**2

_MAX_DEPTH: Final = 150
_LONG_TEXT: Final = 1_000_000
_LONG_INTEGER_BITS: Final = 10_000  # Python refuses to write longer ones in decimal
_MAX_COMPARED_BYTES: Final = 2 * 10**8
"""How much of the text may be compared, since keys have the same hash."""
_TAG: Final = "$"
_LENGTH: Final = Struct("!Q")
_INT64: Final = 2**63
_INVALID: Final = "the process sent a message that is not valid"
_FIX: Final = (
    "return JSON-like data, bytes, dates, decimals, UUIDs, paths, sets, enums, dataclasses, named tuples or "
    "Pydantic models, register the type (toolhaft.backends.register_process_type), or use isolation='thread'"
)

TypeFinder: TypeAlias = Callable[[str], type | None]
"""Finds a type that objects may be made of, by its name; None if there is none."""
# by name, so that a worker does not import modules that are not used
_AS_TEXT: Final = {
    ("datetime", "date"): "date",
    ("datetime", "datetime"): "datetime",
    ("datetime", "time"): "time",
    ("decimal", "Decimal"): "decimal",
    ("uuid", "UUID"): "uuid",
    **{
        ("ipaddress", f"IPv{version}{what}"): f"ipv{version}{what.lower()}"
        for version in (4, 6)
        for what in ("Address", "Interface", "Network")
    },
}
_HASHED: Final = ("set", "frozenset", "dict")


class DataError(Exception):
    """The value cannot be sent, or what was received is not valid."""


def encode(value: object) -> bytes:
    """A value as bytes.

    Raises:
        DataError: if it is not data, contains itself, or is too large.
    """
    writer = _Writer()
    try:
        text = json.dumps(
            writer.write(value, 0), ensure_ascii=False, check_circular=False, separators=(",", ":")
        ).encode("utf-8", "surrogatepass")
    except RecursionError:
        raise DataError("it is nested too deeply, or contains itself") from None
    if len(text) > MAX_TEXT_BYTES or len(text) + sum(map(len, writer.tail)) > MAX_MESSAGE_BYTES:
        raise _too_large()
    return b"".join((_LENGTH.pack(len(text)), text, *writer.tail))


def _too_large() -> DataError:
    return DataError(
        f"it is too large: at most {MAX_TEXT_BYTES // 1024**2} MB as JSON, and "
        f"{MAX_MESSAGE_BYTES // 1024**2} MB with bytes and long texts"
    )


def decode(payload: bytes | bytearray, find: TypeFinder) -> object:
    """The value of bytes that `encode` wrote, or that somebody wrote who wants to do harm.

    Raises:
        DataError: if they are not valid, or need a type that `find` does not find.
    """
    length = int.from_bytes(payload[: _LENGTH.size])
    end = _LENGTH.size + length
    if length > MAX_TEXT_BYTES or end > len(payload):
        raise DataError(_INVALID)
    try:
        text = payload[_LENGTH.size : end].decode("utf-8", "surrogatepass")
        if f'"{_TAG}"' not in text:
            return cast("object", json.loads(text))
        reader = _Reader(memoryview(payload)[end:], length, find)
        return cast("object", json.loads(text, object_hook=reader.read))
    except DataError:
        raise
    except RecursionError:
        raise DataError("the process sent a value that is nested too deeply") from None
    except Exception as error:
        raise DataError(f"{_INVALID}: {type(error).__name__}: {error}") from error


def encode_error(error: BaseException, *, with_trace: bool = False) -> bytes:
    """An exception for the host, with its trace as text."""
    try:
        return encode([error_parts(error, _is_data), format_trace(error) if with_trace else ""])
    except DataError:  # its arguments are too large
        return encode([["", describe_error(error), cast("object", []), cast("object", {})], ""])


def decode_error(payload: bytes | bytearray, find: TypeFinder) -> Exception:
    """The exception that a worker sent; a WorkerError if it is not of a listed class."""
    try:
        parts, trace = cast("list[Any]", decode(payload, find))
        error = error_of(parts)
    except (DataError, TypeError, ValueError) as problem:
        return ToolExecutionError(f"the process sent an error that is not valid: {problem}")
    if trace:
        error.add_note(f"In the worker process:\n{trace}")
    return error


def _is_data(value: object) -> bool:
    try:
        encode(value)
    except Exception:  # noqa: BLE001 -- objects of other people raise anything
        return False
    return True


class _Writer:
    """Turns a value into what JSON can hold."""

    def __init__(self) -> None:
        self.tail: list[bytes] = []
        self._left = MAX_TEXT_BYTES

    def write(self, value: object, depth: int) -> object:
        kind = type(value)
        if kind in (float, bool, type(None)):
            return value
        if kind is str:
            return self._text(cast("str", value))
        if kind is int:
            return _integer(cast("int", value))
        if depth > _MAX_DEPTH:
            raise DataError(f"it is nested more than {_MAX_DEPTH} levels deep, or contains itself")
        self._count(2 * len(cast("list[object]", value)) if kind in (list, tuple, dict) else 2)
        if kind is list:
            items = cast("list[object]", value)
            return items if _are_small_numbers(items) else self._items(items, depth)
        if kind is dict:
            return self._dictionary(cast("dict[object, object]", value), depth)
        if kind is tuple:
            return {_TAG: ["tuple", self._items(cast("tuple[object, ...]", value), depth)]}
        return {_TAG: self._tagged(value, kind, depth)}

    def _items(self, items: Iterable[object], depth: int) -> list[object]:
        return [self.write(item, depth + 1) for item in items]

    def _count(self, size: int) -> None:
        """Stop as soon as it is clear that the value is too large: lists may be in it many times."""
        self._left -= size
        if self._left < 0:
            raise _too_large()

    def _text(self, text: str) -> object:
        if len(text) < _LONG_TEXT:
            self._count(len(text))
            return text
        self.tail.append(text.encode("utf-8", "surrogatepass"))
        return {_TAG: ["text", len(self.tail[-1])]}

    def _dictionary(self, value: Mapping[object, object], depth: int) -> object:
        if set(map(type, value)) <= {str} and _TAG not in value:
            return {key: self.write(item, depth + 1) for key, item in value.items()}
        pairs = [[self.write(key, depth + 1), self.write(item, depth + 1)] for key, item in value.items()]
        return {_TAG: ["dict", pairs]}

    def _tagged(self, value: object, kind: type, depth: int) -> list[object]:
        if kind in (bytes, bytearray):
            self.tail.append(bytes(cast("bytes", value)))
            return ["bytes", len(self.tail[-1])]
        if kind in (set, frozenset):
            return [kind.__name__, self._items(cast("Iterable[object]", value), depth)]
        as_text = _AS_TEXT.get((kind.__module__, kind.__qualname__))
        if as_text is not None:
            return [as_text, str(value)]
        if isinstance(value, BaseException):
            return ["error", self._items(error_parts(value, _is_data), depth)]
        state = object_state(value)
        if state is not None:
            return ["object", type_name(kind), self.write(state, depth + 1)]
        return self._tagged_subclass(value, depth)

    def _tagged_subclass(self, value: Any, depth: int) -> list[object]:  # noqa: ANN401 -- any object
        """Values that lose their own class, which JSON would not show either."""
        if isinstance(value, timedelta):
            return ["timedelta", [value.days, value.seconds, value.microseconds]]
        if isinstance(value, complex):
            return ["complex", [value.real, value.imag]]
        if isinstance(value, PurePath):
            return ["path", str(value)]
        if isinstance(value, dict):
            return ["same", self._dictionary(cast("dict[object, object]", value), depth)]
        if isinstance(value, deque):
            return ["same", self._items(cast("Iterable[object]", value), depth)]
        for base in (list, tuple, set, frozenset, str, int, float, bytes):
            if isinstance(value, base):
                return ["same", self.write(cast("object", base(cast("Any", value))), depth + 1)]
        kind = type_name(type(cast("object", value))).replace(":", ".")
        raise DataError(f"{kind} is not data. Fix: {_FIX}")


def _integer(value: int) -> object:
    return value if value.bit_length() < _LONG_INTEGER_BITS else {_TAG: ["integer", hex(value)]}


def _are_small_numbers(items: list[object]) -> bool:
    """True for a list that JSON can hold as it is; quick, since such lists may be long."""
    kinds = set(map(type, items))
    if kinds == {int}:
        return min(cast("list[int]", items)) >= -_INT64 and max(cast("list[int]", items)) < _INT64
    return kinds <= {float, bool}


class _Reader:
    """Makes values of tags; called for each JSON object, the innermost first."""

    def __init__(self, tail: memoryview, text_bytes: int, find: TypeFinder) -> None:
        self._tail = tail
        self._text_bytes = text_bytes
        self._at = 0
        self._find = find

    def read(self, found: dict[str, object]) -> object:
        if _TAG not in found:
            return found
        parts = found[_TAG]
        if not isinstance(parts, list) or len(found) > 1:
            raise DataError(_INVALID)
        tag, *rest = cast("list[Any]", parts)
        if tag == "object":
            return self._object(*rest)
        if tag == "error":
            return error_of(*rest)
        if tag == "bytes":
            return self._take(*rest)
        if tag == "text":
            return self._take(*rest).decode("utf-8", "surrogatepass")
        return self._plain(tag, *rest)

    def _plain(self, tag: str, part: Any) -> object:  # noqa: ANN401 -- whatever a worker sent
        kind, read = _READERS[tag]
        if not isinstance(part, kind):
            raise DataError(_INVALID)
        if tag in _HASHED:
            self._check_hashes([key for key, _ in part] if tag == "dict" else part)
        return read(part)

    def _check_hashes(self, keys: list[object]) -> None:
        """Refuse keys of which so many have the same hash that comparing them would take minutes."""
        same = len(keys) - len(set(map(hash, keys)))
        if same * self._text_bytes > _MAX_COMPARED_BYTES:
            raise DataError("the process sent a set or dictionary with too many equal keys")

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if type(size) is not int or size < 0 or self._at > len(self._tail):
            raise DataError(f"{_INVALID}: bytes are missing")
        return bytes(self._tail[start : self._at])

    def _object(self, name: str, state: object) -> object:
        kind = self._find(name)
        if kind is None:
            raise DataError(
                f"the type {name!r:.200} is not known outside the process. Fix: name it in the annotations "
                "of the handler, or register it: toolhaft.backends.register_process_type"
            )
        try:
            return restore_object(kind, state)
        except (DataError, RecursionError):
            raise
        except Exception as error:
            raise DataError(
                f"{name.replace(':', '.')} cannot be made of what the process sent, which is not valid for "
                f"it: {type(error).__name__}: {error}. Fix: return plain data, or register the type with "
                "to_data and from_data: toolhaft.backends.register_process_type"
            ) from error


def _of_text(module: str, name: str, text: str) -> object:
    """One of the types of `_AS_TEXT`, made of its text."""
    kind: Any = getattr(import_module(module), name)
    return getattr(kind, "fromisoformat", kind)(text)


_READERS: Final[Mapping[str, tuple[type, Callable[[Any], object]]]] = {
    "tuple": (list, tuple),
    "set": (list, set),
    "frozenset": (list, frozenset),
    "dict": (list, dict),
    "same": (object, lambda value: value),
    "integer": (str, lambda text: int(text, 16)),
    "timedelta": (list, lambda parts: timedelta(*parts)),
    "complex": (list, lambda parts: complex(*parts)),
    "path": (str, Path),
    **{tag: (str, partial(_of_text, *name)) for name, tag in _AS_TEXT.items()},
}
