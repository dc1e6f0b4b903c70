"""How an answer from outside becomes what a tool returns.

Knows JSON values and the names of the returned fields; does not know where the answer came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolhaft.define.running.faults import Faults, unknown
from toolhaft.define.running.parameters import Parameters
from toolhaft.schema.json_value import JSONValue

_NOTHING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The fields that a tool returns, and where each stands in an answer."""

    names: tuple[str, ...]
    pointers: Mapping[str, tuple[str, ...]]
    is_text: bool
    """True if the one field is a string."""
    is_needed: bool
    """True if some field must be there."""

    def pick(self, answer: JSONValue) -> JSONValue:
        """The fields out of an answer; what is not in it is left out."""
        if len(self.names) == 1 and not self.pointers and not isinstance(answer, dict):
            return {self.names[0]: answer}
        picked: dict[str, JSONValue] = {}
        for name in self.names:
            found = look_up(answer, self.pointers.get(name, (name,)))
            if found is not _NOTHING:
                picked[name] = found  # pyright: ignore[reportArgumentType] -- it was in the answer
        return picked


def shape_of(parameters: Parameters, result: Mapping[str, tuple[str, ...]] | None) -> Shape | None:
    """The shape that the `returns` ask for; None where there are none."""
    returns = parameters.returns
    if returns is None:
        return None
    is_text = len(returns) == 1 and next(iter(returns.values())).get("type") == "string"
    return Shape(
        names=tuple(returns),
        pointers=result or {},
        is_text=is_text,
        is_needed=bool(parameters.required_returns),
    )


def read_result(value: JSONValue, parameters: Parameters, faults: Faults) -> dict[str, tuple[str, ...]]:
    """The pointers of `result`, by the names of returned fields."""
    place = ("http", "result")
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.add(place, "result is not a mapping", "write result: {field: /place/in/the/answer}")
        return {}
    if parameters.returns is None:
        faults.add(place, "result maps to returns, and there are none", "add returns, or take result out")
        return {}
    pointers: dict[str, tuple[str, ...]] = {}
    for name, written in value.items():
        pointer = _pointer(written)
        if name not in parameters.returns:
            fix = unknown(name, parameters.returns, "name one of the returns")
            faults.add((*place, name), f"result: no field {name!r:.80} is returned", fix)
        elif pointer is None:
            what = f"result: {name!r:.80} is not a place in the answer"
            faults.add((*place, name), what, "write it as /main/temp or main.temp")
        else:
            pointers[name] = pointer
    return pointers


def _pointer(written: JSONValue) -> tuple[str, ...] | None:
    if not isinstance(written, str) or "${" in written:
        return None
    if not written:
        return ()
    if written.startswith("/"):
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in written[1:].split("/"))
    parts = tuple(written.split("."))
    return parts if all(parts) else None


def look_up(value: JSONValue, pointer: tuple[str, ...]) -> object:
    """What stands at a place; a mark of its own where there is none."""
    for part in pointer:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return _NOTHING
    return value
