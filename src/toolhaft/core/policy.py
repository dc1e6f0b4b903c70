"""The rules that a tool's author may set beside its definition, the same at every door.

Does not know how they are enforced; the executor reads them off the tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Final, cast

from toolhaft import schema
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.errors import DefinitionError

DEFAULT_TIMEOUT_S: Final = 10.0
_RATE: Final = r"[1-9][0-9]*/(s|min|h|day)"


def settle_options(options: Mapping[str, object]) -> dict[str, object]:
    """Every option of a tool, checked, with its default where it was not given.

    Raises:
        DefinitionError: for an option that does not exist or whose value makes no sense.
    """
    for name in options:
        if name not in _CHECKS:
            raise DefinitionError(
                f"no option {name!r} exists", place="options", fix=f"use one of {', '.join(sorted(_CHECKS))}"
            )
    settled = dict(_DEFAULTS)
    for name, value in options.items():
        settled[name] = _CHECKS[name](name, value)
    if settled["cache_s"] is not None and settled["effect"] is not Effect.READ:
        raise DefinitionError(
            f"a tool with effect {settled['effect']!s} cannot be cached",
            place="cache_s",
            fix="declare effect='read', or leave cache_s out",
        )
    return settled


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


def _timeout(name: str, value: object) -> float:
    """Seed 004: nothing said means ten seconds; a call is always bounded."""
    return _seconds(name, value) or DEFAULT_TIMEOUT_S


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


def _words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise _refuse(name, value, "a list of names")
    words = tuple(cast("Iterable[object]", value))
    if not all(isinstance(word, str) and word for word in words):
        raise _refuse(name, words, "a list of names")
    return cast("tuple[str, ...]", words)


def _mapping(name: str, value: object) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise _refuse(name, value, "a mapping")
    try:
        schema.object_to_text(dict(cast("Mapping[str, object]", value)))
    except ValueError:
        raise _refuse(name, cast("object", value), "a mapping of what JSON has") from None
    return deepcopy(dict(cast("Mapping[str, object]", value)))


def _examples(name: str, value: object) -> tuple[ToolExample[object, object], ...]:
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise _refuse(name, cast("object", value), "a list of examples")
    return tuple(ToolExample.read(example) for example in cast("Iterable[object]", value))


_CHECKS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "effect": _effect,
    "timeout_s": _timeout,
    "retryable": _flag,
    "max_attempts": _count,
    "isolation": _isolation,
    "requires": _words,
    "idempotency": _words,
    "rate": _rate,
    "max_parallel": _optional_count,
    "cache_s": _seconds,
    "title": _text,
    "when_to_use": _text,
    "examples": _examples,
    "metadata": _mapping,
    "tags": _words,
    "version": _text,
    "accepts_overrides": _flag,
}
_DEFAULTS: Final[Mapping[str, object]] = {
    "effect": Effect.IRREVERSIBLE,
    "timeout_s": DEFAULT_TIMEOUT_S,
    "retryable": True,
    "max_attempts": 3,
    "isolation": None,
    "requires": (),
    "idempotency": (),
    "rate": None,
    "max_parallel": None,
    "cache_s": None,
    "title": None,
    "when_to_use": None,
    "examples": (),
    "metadata": {},
    "tags": (),
    "version": None,
    "accepts_overrides": True,
}
