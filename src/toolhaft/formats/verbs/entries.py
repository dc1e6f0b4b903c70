"""One tool made ready for one target: its bytes, its losses, and the way back for its arguments.

Knows the tool, the wire and the subset engine; does not know the other tools of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, Protocol, cast

from pydantic_core import to_json

from toolhaft.core.conversion import AnyTool
from toolhaft.core.policy import settle_options
from toolhaft.formats.losses import Loss
from toolhaft.formats.names import fit
from toolhaft.formats.subset.lower import Lowered, RefusedSchema, lower
from toolhaft.formats.subset.target import EVERYTHING
from toolhaft.formats.wire import Declared, Field, Wire
from toolhaft.formats.words import examples_of, join_words, reads_back
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import compile_schema

FREE_FORM_INPUT: Final = "input"
_SAID: Final = frozenset(("title", "when_to_use", "examples", "metadata", "tags", "version"))
_POLICY: Final = {option: value for option, value in settle_options({}).items() if option not in _SAID}
_PLACES: Final[tuple[Field, ...]] = ("title", "output_schema", "tags", "version")


class Turning(Protocol):
    """The way of a tool's arguments to a wire and back."""

    @property
    def renames(self) -> Mapping[str, str]:
        """Each renamed property's name on the wire, with its own."""
        ...

    def back(self, value: JSONValue, /) -> JSONValue:
        """What the wire sent, as the tool takes it; nonsense stays as it is."""
        ...

    def forth(self, value: JSONValue, /) -> JSONValue:
        """What the tool takes, as the wire would send it."""
        ...


class Target(NamedTuple):
    """What a tool is made ready for."""

    format: str
    dialect: str
    strict: bool
    examples: bool

    @property
    def key(self) -> str:
        """What it is kept under: a text, for a text remembers its hash."""
        return f"{self.format}/{self.dialect}/{self.strict}/{self.examples}"


class Entry(NamedTuple):
    """One tool, ready to go out, or the reason why it cannot."""

    tool: AnyTool
    name: str
    wire_name: str
    json_bytes: bytes
    hints: JSONObject
    losses: tuple[Loss, ...]
    turn: Turning | None
    refusal: str | None = None
    optional: int = 0
    unions: int = 0
    properties: int = 0
    is_free_form: bool = False
    description_chars: int = 0


WIRE_NAME: Final = itemgetter(Entry._fields.index("wire_name"))
REFUSAL: Final = itemgetter(Entry._fields.index("refusal"))
JSON_BYTES: Final[Callable[[Entry], bytes]] = itemgetter(Entry._fields.index("json_bytes"))
"""Quicker than the attributes: they are asked of every tool of every request."""


def entry_of(tool: AnyTool, wire: Wire, target: Target) -> Entry:
    """The tool made ready, from its cache where it was before."""
    cache = cast("dict[object, Entry]", tool._exports)  # noqa: SLF001 -- kept for this room # pyright: ignore[reportPrivateUsage] -- the same
    key = target.key
    known = cache.get(key)
    if known is None:
        known = cache[key] = make_entry(tool, wire, target, _own_name(tool, wire))
    return known


def make_entry(tool: AnyTool, wire: Wire, target: Target, wire_name: str) -> Entry:
    """The tool made ready under a name."""
    try:
        return _ready(tool, wire, target, wire_name)
    except RefusedSchema as refused:
        where = f" at {refused.path}" if refused.path else ""
        reason = f"{refused.reason}{where}"
    except ValueError as error:  # text that no JSON can hold
        reason = f"cannot be written as JSON: {error!s:.200}"
    return Entry(tool, tool.name, wire_name, b"", {}, (), None, reason)


def _own_name(tool: AnyTool, wire: Wire) -> str:
    hint = _hints(tool).get("name")  # as the wire that it was imported from called it
    return fit(hint if isinstance(hint, str) and wire.tool_names.admits(hint) else tool.name, wire.tool_names)


def _hints(tool: AnyTool) -> JSONObject:
    hints = tool.metadata.get("wire") if tool.metadata else None
    return dict(cast("Mapping[str, JSONValue]", hints)) if isinstance(hints, Mapping) else {}


def _ready(tool: AnyTool, wire: Wire, target: Target, wire_name: str) -> Entry:
    losses: list[Loss] = []
    if wire_name != tool.name:
        losses.append(Loss(tool.name, "", "name", "renamed", wire_name))
    hints = _told_hints(tool, wire, losses)
    free_form = _free_form(tool, hints, losses)
    subset = wire.subset(target.dialect, strict=target.strict) if free_form is None else EVERYTHING
    # typed doors refuse unknown keys inside objects too; of raw schemas JSON Schema decides
    is_closed = tool.takes in ("keywords", "params")
    lowered = lower(cast("JSONObject", tool.input_schema), subset, is_closed=is_closed)
    losses += [Loss(tool.name, *loss) for loss in lowered.losses]
    turn = lowered.turn if free_form is None else free_form
    losses += _left_out(tool, wire, target)
    has_place = "examples" in wire.fields
    is_shown = bool(tool.examples) and (has_place or target.examples)
    examples = _shown_examples(tool, lowered, losses) if is_shown else []
    words = _words(tool, wire, losses, () if has_place else examples)
    declared = Declared(
        wire_name,
        words,
        _schema(lowered, wire),
        target.strict,
        target.dialect,
        tool,
        hints,
        [cast("JSONObject", example["input"]) for example in examples] if has_place else [],
    )
    losses += [Loss(tool.name, *told) for told in wire.told(declared)]
    return Entry(
        tool,
        tool.name,
        wire_name,
        _write(wire.write_tool(declared)),
        hints,
        tuple(losses),
        turn,
        None,
        lowered.optional,
        lowered.unions,
        lowered.properties,
        free_form is not None,
        len(words),
    )


def _write(tool: JSONObject) -> bytes:
    written = to_json(tool, inf_nan_mode="constants")
    if (b"NaN" in written or b"Infinity" in written) and written != to_json(tool, inf_nan_mode="null"):
        raise ValueError("a number has no finite value")
    return written


def _schema(lowered: Lowered, wire: Wire) -> JSONObject:
    if wire.needs_properties and "properties" not in lowered.schema:
        return {"type": "object", "properties": {}, **lowered.schema}
    return lowered.schema


def _words(tool: AnyTool, wire: Wire, losses: list[Loss], examples: Sequence[JSONObject]) -> str:
    """The description, with what has no place of its own."""
    if "when_to_use" in wire.fields:
        return tool.description
    text = join_words(tool, examples)
    if not reads_back(tool, text):
        told = "its end reads as if it had been joined on: it is parted on import"
        losses.append(Loss(tool.name, "", "description", "reshaped", told))
    return text


def _told_hints(tool: AnyTool, wire: Wire, losses: list[Loss]) -> JSONObject:
    """The hints that the wire has a place for; the others are told."""
    given = _hints(tool)
    if not given:
        return given
    if "metadata" not in wire.fields:
        losses += [
            Loss(tool.name, "", f"metadata.wire.{key}", "left out")
            for key in given
            if key not in wire.hints and key != "name"
        ]
    return {key: value for key, value in given.items() if key in wire.hints}


def _left_out(tool: AnyTool, wire: Wire, target: Target) -> list[Loss]:
    """What the tool says of itself and the wire has no place for."""
    name, fields = tool.name, wire.fields
    found = [
        Loss(name, "", field, "left out")
        for field in _PLACES
        if field not in fields and getattr(tool, field) not in (None, ())
    ]
    if "policy" not in fields:
        found += [Loss(name, "", option, "left out") for option in _own_policy(tool) if option not in fields]
    if tool.metadata and "metadata" not in fields and set(tool.metadata) - {"wire"}:
        found.append(Loss(name, "", "metadata", "left out"))
    if tool.examples:
        if "examples" not in fields and not target.examples:
            found.append(Loss(name, "", "examples", "left out", "examples=True puts them in the description"))
        elif "examples" in fields and "when_to_use" not in fields:
            found += [
                Loss(name, f"/examples/{index}", "examples", "left out", "only the input is shown")
                for index, example in enumerate(tool.examples)
                if example.description or example.output is not None
            ]
    return found


def _own_policy(tool: AnyTool) -> list[str]:
    """The rules for running it that differ from the defaults: the host keeps them, a wire does not."""
    return [option for option, default in _POLICY.items() if getattr(tool, option) != default]


def _shown_examples(tool: AnyTool, lowered: Lowered, losses: list[Loss]) -> list[JSONObject]:
    """The examples as the wire would send them, but for those that its schema has no room for."""
    shown: list[JSONObject] = []
    is_narrow = any(loss.done == "narrowed" for loss in lowered.losses)
    check = compile_schema(lowered.schema, "input_schema").is_valid if is_narrow else None
    for index, example in enumerate(examples_of(tool)):
        given = example["input"] if example["input"] is not None else {}
        sent = given if lowered.turn is None else lowered.turn.forth(given)
        if check is None or check(sent):
            shown.append({**example, "input": sent})
        else:
            told = "the wire's schema does not admit it"
            losses.append(Loss(tool.name, f"/examples/{index}", "examples", "left out", told))
    return shown


class _FreeForm(NamedTuple):
    """The one text of a free-form tool, under the name that its parameter has."""

    parameter: str

    @property
    def renames(self) -> Mapping[str, str]:
        return {} if self.parameter == FREE_FORM_INPUT else {FREE_FORM_INPUT: self.parameter}

    def back(self, value: JSONValue) -> JSONValue:
        return _rename(value, FREE_FORM_INPUT, self.parameter)

    def forth(self, value: JSONValue) -> JSONValue:
        return _rename(value, self.parameter, FREE_FORM_INPUT)


def _rename(value: JSONValue, old: str, new: str) -> JSONValue:
    return {new: value[old]} if isinstance(value, dict) and list(value) == [old] else value


def _free_form(tool: AnyTool, hints: JSONObject, losses: list[Loss]) -> _FreeForm | None:
    """How the text of a free-form tool comes and goes; None for an ordinary one."""
    if not hints.get("free_form"):
        return None
    schema = cast("JSONObject", tool.input_schema)
    properties = schema.get("properties")
    if isinstance(properties, dict) and len(properties) == 1:
        (name, inside), *_ = properties.items()
        if isinstance(inside, dict) and inside.get("type") == "string" and schema.get("required") == [name]:
            if name != FREE_FORM_INPUT:
                losses.append(
                    Loss(tool.name, f"/properties/{name}", "properties", "renamed", FREE_FORM_INPUT)
                )
            losses += [
                Loss(tool.name, f"/properties/{name}", key, "checked locally")
                for key in inside
                if key != "type"
            ]
            return _FreeForm(name)
    raise RefusedSchema("", "a free-form tool takes exactly one parameter, a required string")
