"""Checks plain JSON strictly against an SDK's types: walks lists, requires keys, refuses others.

The SDKs are lenient: pydantic does not check an `Iterable` until it is read, TypedDicts with total=False hide
what is required, and unknown keys are dropped.
"""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import (  # the SDKs' types are made with these
    TypeAliasType,
    get_type_hints,
    is_typeddict,
)

_SCALARS = {str: str, int: int, float: (int, float), bool: bool, NoneType: NoneType}
_WRAPPERS = (Required, NotRequired, Annotated)


def type_problems(value: object, hint: Any, at: str = "") -> list[str]:
    """Where a value does not fit the type, each with its path."""
    hint = _peeled(hint)
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _union_problems(value, get_args(hint), at)
    if origin is Literal:
        choices = get_args(hint)
        fits = any(value == choice and type(value) is type(choice) for choice in choices)
        return [] if fits else [f"{at}: {value!r:.60} is not one of {choices}"]
    if origin is not None:
        return _collection_problems(value, hint, at)
    return _plain_problems(value, hint, at)


def _peeled(hint: Any) -> Any:
    """The type under its wrappers and aliases."""
    while True:
        origin = get_origin(hint)
        if origin in _WRAPPERS:
            hint = get_args(hint)[0]
        elif isinstance(hint, TypeAliasType):
            hint = hint.__value__
        elif isinstance(origin, TypeAliasType):
            hint = origin.__value__[get_args(hint)]
        else:
            return hint


def _union_problems(value: object, hints: tuple[Any, ...], at: str) -> list[str]:
    """None if one member fits; else those of the member that came closest."""
    wanted = [hint for hint in hints if hint is not NoneType or value is None]
    return min((type_problems(value, hint, at) for hint in wanted), key=len)


def _collection_problems(value: object, hint: Any, at: str) -> list[str]:
    origin, inner = get_origin(hint), get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return [f"{at}: expected an object"]
        pairs = [(f"{at}/{key}", member) for key, member in value.items()]
        return [problem for place, member in pairs for problem in type_problems(member, inner[1], place)]
    if not isinstance(value, list | tuple):
        return [f"{at}: expected a list"]
    members = enumerate(value)
    return [
        problem for index, member in members for problem in type_problems(member, inner[0], f"{at}/{index}")
    ]


def _plain_problems(value: object, hint: Any, at: str) -> list[str]:
    if hint is Any or hint is object:
        return json_problems(value, at)
    if is_typeddict(hint):
        return _key_problems(value, *_typed_dict(hint), at)
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return _key_problems(value, *_model(hint), at)
    if isinstance(hint, type) and issubclass(hint, Enum):
        # the SDK that has enums reads them in either case, and sends them as they are defined
        fits = isinstance(value, str) and value.upper() in [member.value.upper() for member in hint]
        return [] if fits else [f"{at}: {value!r:.60} is not a {hint.__name__}"]
    if hint is bytes:
        return [] if _is_bytes(value) else [f"{at}: expected bytes, or base64"]
    fits = (
        hint in _SCALARS and isinstance(value, _SCALARS[hint]) and (hint is bool) == isinstance(value, bool)
    )
    return [] if fits else [f"{at}: expected {getattr(hint, '__name__', hint)}, got {value!r:.60}"]


def _is_bytes(value: object) -> bool:
    """Bytes, or Base64 of either alphabet, as pydantic reads it."""
    try:
        return isinstance(value, bytes) or (
            isinstance(value, str) and b64decode(value, altchars=b"-_", validate=True) != b""
        )
    except Error:
        return False


@cache
def _typed_dict(hint: Any) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The keys of a TypedDict and those that must be there."""
    keys = get_type_hints(hint, include_extras=True)
    wrapped = {key: get_origin(inner) for key, inner in keys.items()}
    needed = [
        key
        for key in keys
        if wrapped[key] is Required or (hint.__total__ and wrapped[key] is not NotRequired)
    ]
    return keys, frozenset(needed)


@cache
def _model(hint: type[BaseModel]) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The same of a pydantic model, by the names as sent, and by its own where it takes those too."""
    fields = {field.alias or name: field for name, field in hint.model_fields.items()}
    needed = [name for name, field in fields.items() if field.is_required()]
    own = hint.model_fields if hint.model_config.get("populate_by_name") else {}
    return {name: field.annotation for name, field in {**own, **fields}.items()}, frozenset(needed)


def _key_problems(value: object, keys: Mapping[str, Any], needed: frozenset[str], at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: expected an object"]
    return [
        *(f"{at}: {key!r} is missing" for key in sorted(needed - set(value))),
        *(f"{at}: {key!r} is unknown" for key in sorted(set(value) - set(keys))),
        *(
            problem
            for key in value
            if key in keys
            for problem in type_problems(value[key], keys[key], f"{at}/{key}")
        ),
    ]


def json_problems(value: object, at: str = "") -> list[str]:
    """Where a value is not JSON."""
    if isinstance(value, dict):
        strange = [f"{at}: the key {key!r} is not text" for key in value if not isinstance(key, str)]
        inner = [problem for key in value for problem in json_problems(value[key], f"{at}/{key}")]
        return strange + inner
    if isinstance(value, list):
        return [
            problem
            for index, member in enumerate(value)
            for problem in json_problems(member, f"{at}/{index}")
        ]
    return (
        []
        if value is None or isinstance(value, str | int | float | bool)
        else [f"{at}: {value!r:.60} is not JSON"]
    )
