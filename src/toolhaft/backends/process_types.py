"""The types whose objects a worker may send, and how their state is written and restored."""

from __future__ import annotations

import pickle
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache, partial
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, TypeVar, cast

from toolhaft.backends.process_handler import MAIN_ALIAS, unwrap

if TYPE_CHECKING:
    from dataclasses import Field

    from toolhaft.core.result import ToolResult

KindT = TypeVar("KindT", bound=type)
ToData = Callable[[Any], object]
FromData = Callable[[Any], object]

_MAX_TYPES: Final = 10_000
_WRAPPED: Final = ("__wrapped__", "func", "__func__", "function", "handler", "__call__")


class _Codec(NamedTuple):
    """How objects of a type become data, and are made of it."""

    kind: type
    to_data: ToData
    from_data: FromData


_registered: Final[dict[str, type | _Codec]] = {}


def register_process_type(
    kind: KindT, *, to_data: ToData | None = None, from_data: FromData | None = None
) -> KindT:
    """Let handlers with `isolation="process"` return objects of this type; call it where the type is defined.

    Dataclasses, named tuples, enums and Pydantic models need nothing else, and this function can decorate
    them. Another class needs `to_data`, which is called in the worker, and `from_data`, which is called in
    the host with whatever the worker sent: check it there.

    Raises:
        TypeError: if the type is neither, or only one function is given.
    """
    if to_data is not None and from_data is not None:
        _registered[type_name(kind)] = _Codec(kind, to_data, from_data)
    elif to_data is None and from_data is None and is_data_type(kind):
        _registered[type_name(kind)] = kind
    else:
        raise TypeError(
            f"{kind!r:.200} cannot be sent as it is. Fix: make it a dataclass, or give to_data and from_data"
        )
    return kind


def type_name(kind: type) -> str:
    """The name under which a worker and the host know a type."""
    module = "__main__" if kind.__module__ == MAIN_ALIAS else kind.__module__
    return f"{module}:{kind.__qualname__}"


def is_data_type(kind: object) -> TypeGuard[type]:
    """True for a dataclass, a named tuple, an enum or a Pydantic model."""
    if not isinstance(kind, type):
        return False
    is_plain = hasattr(kind, "__dataclass_fields__") or issubclass(kind, Enum)
    return is_plain or _is_named(kind) or _is_model(kind)


def _is_named(kind: Any) -> bool:  # noqa: ANN401 -- any class
    return hasattr(kind, "_fields") and issubclass(kind, tuple)


def _is_model(kind: Any) -> bool:  # noqa: ANN401 -- any class
    pydantic = sys.modules.get("pydantic.main")
    return pydantic is not None and issubclass(kind, cast("type", pydantic.BaseModel))


def object_state(value: Any) -> object:  # noqa: ANN401 -- whatever a handler returned
    """The state of an object of a data type or a registered type, None for any other object."""
    kind = cast("Any", type(value))
    codec = _registration(type_name(kind))
    if isinstance(codec, _Codec):
        return [codec.to_data(value)]
    if isinstance(value, Enum):
        return value.name if value.name in kind.__members__ else [value.value]
    if hasattr(kind, "__dataclass_fields__"):
        names = [field.name for field in _fields(kind)]
        return {name: cast("object", getattr(value, name)) for name in names if hasattr(value, name)}
    if _is_named(kind):
        return list(value)
    return _model_state(value) if _is_model(kind) else None


def restore_object(kind: Any, state: Any) -> object:  # noqa: ANN401 -- the state is what a worker sent
    """An object of a known type, made of its state; what the type itself checks is checked again.

    Raises:
        Exception: if the state does not fit the type.
    """
    codec = _registration(type_name(kind))
    if isinstance(codec, _Codec):
        return codec.from_data(*state)
    if issubclass(kind, Enum):
        return kind[state] if isinstance(state, str) else _member_of(kind, *state)
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass(kind, state)
    if _is_model(kind):
        return _model(kind, *state)
    if len(state) != len(kind._fields):
        raise ValueError(f"{kind.__qualname__} has other fields")
    return cast("object", cast("Any", tuple).__new__(kind, state))


def _member_of(kind: type[Enum], value: object) -> Enum:
    return kind(value)  # never with more arguments: they would make a new class


def _checks_itself(kind: type) -> bool:
    """True for a type that checks its fields when an object is made."""
    return hasattr(kind, "__post_init__") or hasattr(kind, "__pydantic_validator__")


def _runs_code(kind: Any) -> bool:  # noqa: ANN401 -- any class
    """True if making or dropping an object of a type runs code of the type."""
    if issubclass(kind, Enum):
        return any("_missing_" in vars(base) for base in kind.__mro__ if base.__module__ != "enum")
    names = cast("Iterable[str]", getattr(kind, "__dataclass_fields__", ()))
    setters = [found for found in map(partial(_class_attribute, kind), names) if hasattr(found, "__set__")]
    return (
        _checks_itself(kind)
        or hasattr(kind, "__del__")
        or any(not isinstance(found, MemberDescriptorType) for found in setters)
    )


def _class_attribute(kind: type, name: str) -> object:
    """What a class has under a name, without calling it."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _refuse_other_value(kind: type, sent: Mapping[str, object], made: object) -> None:
    """Refuse an object that was not made as it was sent: another value would go unnoticed.

    A model may still convert a field to the type that it declares.
    """
    converts = hasattr(kind, "__pydantic_validator__")
    for name, value in sent.items():
        now = cast("object", getattr(made, name, None))
        if now is not value and now != value and (type(now) is type(value) or not converts):
            raise ValueError(f"the field {name} changes when the object is made again")


def _dataclass(kind: Any, state: Mapping[str, object]) -> object:  # noqa: ANN401 -- any dataclass
    fields = {field.name: field for field in _fields(kind)}
    missing = [name for name, field in fields.items() if field.init and name not in state]
    if missing or not state.keys() <= fields.keys():
        raise ValueError(f"{kind.__qualname__} has other fields")
    if _checks_itself(kind):
        made = cast("object", kind(**{name: value for name, value in state.items() if fields[name].init}))
        _refuse_other_value(kind, state, made)
        return made
    made = cast("object", object.__new__(kind))
    for name, value in state.items():
        object.__setattr__(made, name, value)
    return made


def _fields(kind: Any) -> tuple[Field[object], ...]:  # noqa: ANN401 -- any dataclass
    from dataclasses import fields  # noqa: PLC0415 -- slow to import, and loaded already if there is a dataclass

    return fields(kind)


def _model_state(value: Any) -> list[object]:  # noqa: ANN401 -- a Pydantic model, which is not imported here
    declared = cast("dict[str, object]", type(value).model_fields)
    fields = {name: item for name, item in value.__dict__.items() if name in declared}
    given = sorted(value.__pydantic_fields_set__)
    return [{**fields, **(value.__pydantic_extra__ or {})}, given, dict(value.__pydantic_private__ or {})]


def _model(kind: Any, fields: dict[str, object], given: list[str], private: dict[str, object]) -> object:  # noqa: ANN401 -- as above
    is_root = bool(getattr(kind, "__pydantic_root_model__", False))
    made = kind.__pydantic_validator__.validate_python(
        fields["root"] if is_root else fields, by_name=True, by_alias=False
    )
    _refuse_other_value(kind, fields, made)
    object.__setattr__(made, "__pydantic_fields_set__", set(given) & fields.keys())
    if made.__pydantic_private__ is not None:
        known = cast("dict[str, object]", kind.__private_attributes__)
        made.__pydantic_private__.update({name: item for name, item in private.items() if name in known})
    return cast("object", made)


def find_type(name: str, known: Iterable[type]) -> type | None:
    """A registered type, one of Toolhaft's own, or one of these, by its name."""
    found = _registration(name)
    if found is not None:
        return found.kind if isinstance(found, _Codec) else found
    return next((kind for kind in known if type_name(kind) == name and is_data_type(kind)), None)


def _registration(name: str) -> type | _Codec | None:
    found = _registered.get(name)
    if found is None and name.startswith("toolhaft.core."):
        return _own_types().get(name)
    return _pydantic_types().get(name) if found is None and name.startswith("pydantic.") else found


@lru_cache(maxsize=1)
def _pydantic_types() -> dict[str, _Codec]:
    """Secrets and URLs, which are neither data nor models."""
    from pydantic import SecretBytes, SecretStr, networks  # noqa: PLC0415 -- slow to import

    secrets = [_Codec(kind, kind.get_secret_value, kind) for kind in (SecretStr, SecretBytes)]
    urls = [_Codec(kind, str, kind) for kind in vars(networks).values() if hasattr(kind, "unicode_string")]
    return {type_name(codec.kind): codec for codec in (*secrets, *urls)}


@lru_cache(maxsize=1)
def _own_types() -> dict[str, type | _Codec]:
    from toolhaft.core import content, ports  # noqa: PLC0415 -- few handlers return them, and they are slow to import
    from toolhaft.core.result import ToolResult  # noqa: PLC0415 -- the same

    kinds = [
        content.Image,
        content.Audio,
        content.Video,
        content.Document,
        content.Text,
        ports.FileStat,
        ports.FileText,
        ports.GrepHit,
    ]
    return {
        **{type_name(kind): kind for kind in kinds},
        type_name(ToolResult): _Codec(ToolResult, _result_data, _result),
    }


_RESULT_FLAGS: Final = ("success", "exclude_value_from_context", "final", "untrusted")


def _result_data(result: ToolResult[object]) -> dict[str, object]:
    error = None if result.failure is None else result.failure.cause
    names = ("message", "value", "content", *_RESULT_FLAGS)
    return {"error": error, **{name: cast("object", getattr(result, name)) for name in names}}


def _result(data: Mapping[str, Any]) -> object:
    from toolhaft.core.result import Failure, ToolResult  # noqa: PLC0415 -- as above

    error = cast("object", data["error"])
    if not isinstance(data["message"], str):
        raise TypeError("the message is not a text")
    failure = Failure(kind="failed", cause=error) if isinstance(error, BaseException) else None
    flags: dict[str, Any] = {name: data[name] is True for name in _RESULT_FLAGS}
    return ToolResult(
        message=data["message"], value=data["value"], failure=failure, content=tuple(data["content"]), **flags
    )


@lru_cache(maxsize=256)
def handler_types(packed: bytes) -> frozenset[type]:
    """The data types that the annotations of a handler name, and those of its module that run no code."""
    handler = cast("object", pickle.loads(packed))  # noqa: S301 -- written by this process, in `pack_handler`
    functions = [found for found in unwrap(handler, _WRAPPED) if isinstance(found, FunctionType)]
    named = [kind for function in functions for kind in tuple(function.__globals__.values())]
    declared = data_types(hint for function in functions for hint in _hints(function))
    return declared | {kind for kind in named if is_data_type(kind) and not _runs_code(kind)}


def data_types(hints: Iterable[object]) -> frozenset[type]:
    """The data types among some annotations, and those that their fields name."""
    found: set[type] = set()
    waiting = list(hints)
    seen: dict[int, object] = {}  # keeps them alive, so that no other one gets the same id
    while waiting and len(seen) < _MAX_TYPES:
        hint = waiting.pop()
        if id(hint) in seen:
            continue
        seen[id(hint)] = hint
        waiting += [*typing.get_args(hint), *_named_by(hint)]
        if is_data_type(hint):
            found.add(hint)
        if isinstance(hint, type):
            waiting += _hints(hint)
    return frozenset(found)


def _named_by(hint: object) -> list[object]:
    """What a generic type, an alias, a NewType, a type variable or a value of an enum is made of."""
    found = [typing.get_origin(hint), type(hint) if isinstance(hint, Enum) else None]
    if not isinstance(hint, type):
        found += [getattr(hint, name, None) for name in ("__value__", "__supertype__", "__bound__")]
    return [item for item in found if item is not None]


def _hints(owner: object) -> list[object]:
    """The annotations of a function or class; those that cannot be evaluated are left out."""
    try:
        return list(typing.get_type_hints(owner).values())
    except Exception:  # noqa: BLE001 -- annotations of other people raise anything
        return []
