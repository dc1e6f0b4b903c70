"""The options of a tool: their names and types for signatures, their checks and their defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from copy import deepcopy
from functools import reduce, wraps
from types import FunctionType
from typing import Any, Final, Literal, TypedDict, TypeVar, cast

from toolhaft import schema
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.errors import DefinitionError
from toolhaft.schema.nearest import nearest

ClassT = TypeVar("ClassT")

DEFAULT_TIMEOUT_S: Final = 10.0
_RATE: Final = r"[1-9][0-9]*/(s|min|h|day)"

Isolation = Literal["inline", "thread", "process"]
ArgumentStyle = Literal["input", "keywords", "params", "runtime"]
"""How a handler receives its arguments:

- `input`: one dictionary
- `keywords`: one keyword argument per parameter
- `params`: one typed object, and the context
- `runtime`: keyword arguments, together with the executor's run-time values
"""


class CallOptions(TypedDict, total=False):
    """How calls of a tool are run; every way to define a tool accepts these."""

    effect: Effect | Literal["read", "idempotent", "reversible", "irreversible"]
    timeout_s: float | None
    stall_s: float | None
    retryable: bool
    max_attempts: int
    isolation: Isolation | None
    requires: Iterable[str]
    idempotency: Iterable[str]
    rate: str | None
    max_parallel: int | None
    cache_s: float | None


class Options(CallOptions, total=False):
    """Every optional field of a tool: all but its name, description, schemas and handler."""

    title: str | None
    when_to_use: str | None
    examples: Iterable[ToolExample[Any, Any] | Mapping[str, object]]
    metadata: Mapping[str, object]
    tags: Iterable[str]
    version: str | None
    accepts_overrides: bool


def resolve_options(options: Mapping[str, object]) -> dict[str, object]:
    """Check the options of a tool and add the defaults of those that were not given.

    Raises:
        DefinitionError: for an option that does not exist, or a value that is not valid.
    """
    for name in options:
        if name not in _OPTIONS:
            fix = near_option(name) or f"use one of {', '.join(sorted(_OPTIONS))}"
            raise DefinitionError(f"no option {name!r} exists", place="options", fix=fix)
    resolved = dict(_DEFAULTS)
    for name, value in options.items():
        check, _ = _OPTIONS[name]
        resolved[name] = check(name, value)
    if resolved["metadata"]:
        inherited = metadata_options(cast("Mapping[str, object]", resolved["metadata"]))
        resolved |= {name: value for name, value in inherited.items() if name not in options}
    _bound(resolved)
    if resolved["cache_s"] is not None and resolved["effect"] is not Effect.READ:
        raise DefinitionError(
            f"a tool with effect {resolved['effect']!s} cannot be cached",
            place="cache_s",
            fix="declare effect='read', or leave cache_s out",
        )
    return resolved


METADATA_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "version": ("version",),
    "tags": ("tags",),
    "examples": ("examples",),
    "rate": ("performance", "rate_limit"),
}
"""The options that a tool's metadata can give, each with its path in the metadata."""


def metadata_options(metadata: Mapping[str, object]) -> dict[str, object]:
    """The options that the metadata gives, checked; a tool has them if its own options do not say otherwise.

    Raises:
        DefinitionError: for a value that is not valid; names its place in the metadata.
    """
    found: dict[str, object] = {}
    for name, path in METADATA_OPTIONS.items():
        value = reduce(_member, path, cast("object", metadata))
        if value is None:
            continue
        place = f"metadata.{'.'.join(path)}"
        check, _ = _OPTIONS[name]
        try:
            found[name] = check(place, value)
        except DefinitionError as error:
            raise DefinitionError(error.problem, place=place, fix=error.fix) from error.__cause__
    return found


def _member(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None


_OTHER_NAMES: Final[Mapping[str, str]] = {
    "concurrency": "max_parallel",
    "max_retries": "max_attempts",
    "permissions": "requires",
    "retries": "max_attempts",
    "scopes": "requires",
    "timeout_ms": "timeout_s",
    "timeout_sec": "timeout_s",
    "timeout_seconds": "timeout_s",
    "ttl": "cache_s",
}
"""What other libraries call an option."""


def near_option(name: str) -> str:
    """A hint at the option that an unknown name most likely means; empty if none is near."""
    close = closest_option(name, (*_OPTIONS, "name", "description"))
    return f"did you mean {close!r}?" if close else ""


def closest_option(name: str, known: Collection[str]) -> str | None:
    """The known option that an unknown name most likely means; None if none is near."""
    other = _OTHER_NAMES.get(name)
    return other if other in known else nearest(name, known)


def refuse_unknown_keywords(cls: type[ClassT]) -> type[ClassT]:
    """A class decorator: the error for a keyword that the constructor does not take names the nearest one."""
    create = cast("Callable[..., None]", getattr(cls, "__init__"))  # noqa: B009 -- of any class
    code = cast("FunctionType", create).__code__
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @wraps(create)
    def checked(self: object, *args: object, **given: object) -> None:
        for name in given:
            if name not in known:
                close = closest_option(name, known)
                hint = f"did you mean {close!r}?" if close else f"the options are {', '.join(known)}"
                raise TypeError(f"{cls.__name__} has no option {name!r}; {hint}")
        create(self, *args, **given)

    setattr(cls, "__init__", checked)  # noqa: B010 -- a type checker allows no assignment to it
    return cls


def _bound(resolved: dict[str, object]) -> None:
    """Make sure that every call is bounded: without `stall_s`, no time limit means the default one."""
    timeout_s, stall_s = resolved["timeout_s"], cast("float | None", resolved["stall_s"])
    if timeout_s is None and stall_s is None:
        resolved["timeout_s"] = DEFAULT_TIMEOUT_S
    if stall_s is not None and isinstance(timeout_s, float) and stall_s > timeout_s:
        raise DefinitionError(
            f"a stall_s of {stall_s:g} s has no effect with a timeout_s of {timeout_s:g} s",
            place="stall_s",
            fix="give timeout_s=None, so that the tool may run as long as it beats, or a longer timeout_s",
        )


def _refuse(name: str, value: object, wanted: str) -> DefinitionError:
    return DefinitionError(
        f"{value!r:.80} is not {wanted}", place=name, fix=f"give {name} {wanted}, or leave it out"
    )


def _effect(name: str, value: object) -> Effect:
    try:
        return Effect(cast("str", value))
    except ValueError:
        raise _refuse(name, value, f"one of {', '.join(Effect)}") from None


def _isolation(name: str, value: object) -> object:
    if value not in (None, "inline", "thread", "process"):
        raise _refuse(name, value, "one of inline, thread, process")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _refuse(name, value, "True or False")
    return value


def _seconds(name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise _refuse(name, value, "a positive number of seconds")
    try:
        return float(value)
    except OverflowError:
        raise _refuse(name, value, "a positive number of seconds") from None


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _refuse(name, value, "a whole number of at least 1")
    return value


def _optional_count(name: str, value: object) -> int | None:
    return None if value is None else _count(name, value)


def _rate(name: str, value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and re.fullmatch(_RATE, value)):
        raise _refuse(name, value, "a rate such as '100/min' (s, min, h or day)")
    return value


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _refuse(name, value, "text")
    return value or None


def _names(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _refuse(name, value, "a list of names")
    names = tuple(cast("Iterable[object]", value))
    if not all(isinstance(each, str) and each for each in names):
        raise _refuse(name, names, "a list of names")
    return cast("tuple[str, ...]", names)


def _mapping(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise _refuse(name, value, "a mapping")
    try:
        schema.object_to_text(dict(cast("Mapping[str, object]", value)))
    except ValueError:
        raise _refuse(name, cast("object", value), "a mapping that JSON can hold") from None
    return deepcopy(dict(cast("Mapping[str, object]", value)))


def _examples(name: str, value: object) -> tuple[ToolExample[object, object], ...]:
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise _refuse(name, cast("object", value), "a list of examples")
    return tuple(ToolExample.read(example) for example in cast("Iterable[object]", value))


_OPTIONS: Final[Mapping[str, tuple[Callable[[str, object], object], object]]] = {
    "effect": (_effect, Effect.IRREVERSIBLE),
    "timeout_s": (_seconds, DEFAULT_TIMEOUT_S),
    "stall_s": (_seconds, None),
    "retryable": (_flag, True),
    "max_attempts": (_count, 3),
    "isolation": (_isolation, None),
    "requires": (_names, ()),
    "idempotency": (_names, ()),
    "rate": (_rate, None),
    "max_parallel": (_optional_count, None),
    "cache_s": (_seconds, None),
    "title": (_text, None),
    "when_to_use": (_text, None),
    "examples": (_examples, ()),
    "metadata": (_mapping, {}),
    "tags": (_names, ()),
    "version": (_text, None),
    "accepts_overrides": (_flag, True),
}
"""The check and the default of each option."""
_DEFAULTS: Final[dict[str, object]] = {name: default for name, (_, default) in _OPTIONS.items()}
