"""Prepares one tool for one target: its JSON bytes, its losses, and the mapping of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple, cast

from pydantic_core import to_json

from toolhaft.core.conversion import AnyTool
from toolhaft.core.options import resolve_options
from toolhaft.formats.description_text import (
    examples_of,
    fallback_description,
    is_only_described,
    join_description,
    metadata_of,
    returns_with_members,
    splits_back,
)
from toolhaft.formats.losses import Loss, PolicyField
from toolhaft.formats.message_parts import list_or_empty, object_or_empty
from toolhaft.formats.names import fit_name
from toolhaft.formats.provider_format import (
    ABSENT,
    OWN_FIELDS,
    PROVIDER_TOOL,
    WRAPPERS,
    ProviderFormat,
    ToolDeclaration,
    without_field,
)
from toolhaft.formats.subset.argument_maps import ArgumentMap
from toolhaft.formats.subset.lower import Lowered, RefusedSchema, lower
from toolhaft.formats.subset.target import EVERYTHING
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import compile_validator

FREE_FORM_INPUT: Final = "input"
_OWN_HINTS: Final = frozenset(("name", OWN_FIELDS, PROVIDER_TOOL))
"""Hints that are not fields of a tool."""
_REWRITTEN: Final = frozenset((ABSENT, "type", "parameters", "response"))
"""Fields of another format that an export writes in its own way."""
_FOR_THE_MODEL: Final = frozenset(("title", "when_to_use", "examples"))
_POLICY: Final = {
    option: value for option, value in resolve_options({}).items() if option not in _FOR_THE_MODEL
}
"""The options that Toolhaft applies, with their defaults: no provider needs them."""


class Target(NamedTuple):
    """What a tool is exported to."""

    format: str
    dialect: str
    strict: bool
    examples: bool
    restores_strict: bool = True
    """Whether a tool that is not exported as strict gets back the `strict` that it was imported with."""

    @property
    def key(self) -> str:
        """The cache key: a string, because strings cache their hash."""
        return f"{self.format}/{self.dialect}/{self.strict}/{self.examples}/{self.restores_strict}"


class ToolEntry(NamedTuple):
    """One tool ready to be sent, or the reason why it cannot be sent."""

    tool: AnyTool
    name: str
    sent_name: str
    json_bytes: bytes
    hints: JSONObject
    losses: tuple[Loss, ...]
    mapping: ArgumentMap | None
    refusal: str | None = None
    optional: int = 0
    unions: int = 0
    properties: int = 0
    is_free_form: bool = False
    description_chars: int = 0
    is_provider_tool: bool = False
    is_strict: bool = False
    policy_fields: tuple[PolicyField, ...] = ()


SENT_NAME: Final = itemgetter(ToolEntry._fields.index("sent_name"))
REFUSAL: Final = itemgetter(ToolEntry._fields.index("refusal"))
IS_PROVIDER_TOOL: Final = itemgetter(ToolEntry._fields.index("is_provider_tool"))
JSON_BYTES: Final[Callable[[ToolEntry], bytes]] = itemgetter(ToolEntry._fields.index("json_bytes"))
"""These getters are faster than attributes, and run for every tool of every request."""


def entry_of(tool: AnyTool, provider: ProviderFormat, target: Target) -> ToolEntry:
    """The tool's entry, cached on the tool."""
    cache = cast("dict[object, ToolEntry]", tool.export_cache)
    key = target.key
    known = cache.get(key)
    if known is None:
        known = cache[key] = make_entry(tool, provider, target, _preferred_name(tool, provider))
    return known


def make_entry(tool: AnyTool, provider: ProviderFormat, target: Target, sent_name: str) -> ToolEntry:
    """A new entry under the given name."""
    try:
        return _prepared(tool, provider, target, sent_name)
    except RefusedSchema as refused:
        where = f" at {refused.path}" if refused.path else ""
        reason = f"{refused.reason}{where}"
    except ValueError as error:  # text that JSON cannot represent
        reason = f"cannot be written as JSON: {error!s:.200}"
    return ToolEntry(tool, tool.name, sent_name, b"", {}, (), None, reason)


def _preferred_name(tool: AnyTool, provider: ProviderFormat) -> str:
    hint = _hints(tool).get("name")  # its name in the format that it was imported from
    return fit_name(
        hint if isinstance(hint, str) and provider.tool_names.admits(hint) else tool.name, provider.tool_names
    )


def _hints(tool: AnyTool) -> JSONObject:
    hints = tool.metadata.get("wire") if tool.metadata else None
    return dict(cast("Mapping[str, JSONValue]", hints)) if isinstance(hints, Mapping) else {}


def _prepared(tool: AnyTool, provider: ProviderFormat, target: Target, sent_name: str) -> ToolEntry:
    wire = _hints(tool)
    if PROVIDER_TOOL in wire and "metadata" not in provider.fields:
        return _provider_entry(tool, provider, wire)
    losses = _wire_losses(tool.name, sent_name, wire, provider)
    hints = {key: value for key, value in wire.items() if key in provider.hints}
    free_form = _free_form(tool, hints, losses)
    subset = provider.subset(target.dialect, strict=target.strict) if free_form is None else EVERYTHING
    # typed tools refuse unknown keys in nested objects too; raw schemas follow JSON Schema
    is_closed = tool.takes in ("keywords", "params")
    lowered = lower(cast("JSONObject", tool.input_schema), subset, is_closed=is_closed)
    losses += [Loss(tool.name, *loss) for loss in lowered.losses]
    mapping = lowered.mapping if free_form is None else free_form
    losses += _field_losses(tool, provider, target)
    has_field = "examples" in provider.fields
    is_shown = bool(tool.examples) and (has_field or target.examples)
    examples = _mapped_examples(tool, lowered, losses) if is_shown else []
    output_declared = tool.output_schema is not None and provider.declares_output(tool, hints, target.dialect)
    description = _full_description(
        tool, provider, losses, () if has_field else examples, has_output=output_declared
    )
    declared = ToolDeclaration(
        sent_name,
        description,
        _schema(lowered, provider),
        target.strict,
        target.dialect,
        tool,
        hints,
        [cast("JSONObject", example["input"]) for example in examples] if has_field else [],
    )
    losses += [Loss(tool.name, *loss) for loss in provider.tool_losses(declared)]
    return ToolEntry(
        tool,
        tool.name,
        sent_name,
        _write(_written(wire, declared, provider, losses, restores_strict=target.restores_strict)),
        hints,
        tuple(losses),
        mapping,
        None,
        lowered.optional,
        lowered.unions,
        lowered.properties,
        free_form is not None,
        len(description),
        is_strict=target.strict and free_form is None,
        policy_fields=tuple(_policy_fields(tool, provider)),
    )


def is_provider_tool(tool: AnyTool) -> bool:
    """True for a tool that a provider defines: it is exported to that provider, and never runs here."""
    return bool(tool.metadata) and PROVIDER_TOOL in _hints(tool)


def _provider_entry(tool: AnyTool, provider: ProviderFormat, hints: JSONObject) -> ToolEntry:
    """The entry of a tool that a provider defines: its own declaration, for that provider alone.

    Raises:
        RefusedSchema: for another provider.
    """
    declarations = hints[PROVIDER_TOOL]
    by_format = declarations if isinstance(declarations, dict) else {}
    declaration = by_format.get(provider.name)
    if not isinstance(declaration, dict):
        raise RefusedSchema("", f"only {' and '.join(by_format) or 'its provider'} has this tool")
    beside = {key: value for key, value in hints.items() if key in provider.hints}
    written = _write(declaration)
    return ToolEntry(tool, tool.name, tool.name, written, beside, (), None, is_provider_tool=True)


def _written(
    wire: JSONObject,
    declared: ToolDeclaration,
    provider: ProviderFormat,
    losses: list[Loss],
    *,
    restores_strict: bool,
) -> JSONObject:
    """The tool as the payload has it, with the fields that an import from this format kept."""
    written, tool = provider.write_tool(declared), declared.tool
    kept = wire.get(OWN_FIELDS)
    if not isinstance(kept, dict) or "metadata" in provider.fields:
        return written
    is_blank = declared.description == fallback_description(tool.name, tool.title)
    for format, more in kept.items():
        own = object_or_empty(more) if is_blank else without_field(object_or_empty(more), "description")
        own = without_field(own, "strict") if declared.strict or not restores_strict else own
        if format == provider.name:
            provider.restore_fields(written, own, declared)
        else:
            losses += _lost_fields(tool.name, format, own, wire)
    return written


def _lost_fields(name: str, format: str, more: JSONObject, hints: JSONObject) -> Iterator[Loss]:
    """The losses of the fields that an import from another format kept."""
    for key, value in more.items():
        if key == "description" or (key == ABSENT and "description" in list_or_empty(value)):
            why = f"it has none in {format}; its name or title is sent"
            yield Loss(name, "", "description", "reshaped", why)
        elif isinstance(value, dict) and key in WRAPPERS:
            yield from _lost_fields(name, format, value, hints)
        elif key not in hints and key not in _REWRITTEN and value not in (None, ""):
            yield Loss(name, "", f"metadata.wire.{key}", "left out", f"a field of {format}")


def _write(tool: JSONObject) -> bytes:
    written = to_json(tool, inf_nan_mode="constants")
    if (b"NaN" in written or b"Infinity" in written) and written != to_json(tool, inf_nan_mode="null"):
        raise ValueError("a number has no finite value")
    return written


def _schema(lowered: Lowered, provider: ProviderFormat) -> JSONObject:
    if provider.needs_properties and "properties" not in lowered.schema:
        return {"type": "object", "properties": {}, **lowered.schema}
    return lowered.schema


def _full_description(
    tool: AnyTool,
    provider: ProviderFormat,
    losses: list[Loss],
    examples: Sequence[JSONObject],
    *,
    has_output: bool,
) -> str:
    """The description, with the fields that the format lacks appended."""
    if "when_to_use" in provider.fields:
        return tool.description
    returns = "" if has_output else returns_with_members(tool)
    text = join_description(tool, returns, examples)
    if not splits_back(tool, text, returns, has_output=has_output):
        detail = "its end looks like an appended field, and is split off on import"
        losses.append(Loss(tool.name, "", "description", "reshaped", detail))
    return text


def _wire_losses(name: str, sent_name: str, wire: JSONObject, provider: ProviderFormat) -> list[Loss]:
    """Losses of the name and of the hints that the format does not support."""
    keeps_all = "metadata" in provider.fields
    imported = None if keeps_all else wire.get("name")
    losses: list[Loss] = []
    if sent_name != name or imported not in (None, sent_name):
        detail = sent_name if imported in (None, sent_name) else f"{sent_name}; it was {imported!r}"
        losses.append(Loss(name, "", "name", "renamed", detail))
    losses += [
        Loss(name, "", f"metadata.wire.{key}", "left out")
        for key in wire
        if not keeps_all and key not in provider.hints and key not in _OWN_HINTS
    ]
    return losses


def _policy_fields(tool: AnyTool, provider: ProviderFormat) -> Iterator[PolicyField]:
    """The options that are not sent because the model does not need them."""
    fields = provider.fields
    if "policy" in fields:
        return
    for option, default in _POLICY.items():
        value = getattr(tool, option)
        if option == "metadata":
            value = {key: own for key, own in metadata_of(tool).items() if key != "wire"}
        if value != default and option not in fields:
            yield PolicyField(tool.name, option, value)


def _field_losses(tool: AnyTool, provider: ProviderFormat, target: Target) -> list[Loss]:
    """Losses of the fields that the format lacks."""
    name, fields = tool.name, provider.fields
    found: list[Loss] = []
    if tool.title is not None and "title" not in fields:
        found.append(Loss(name, "", "title", "left out"))
    output = tool.output_schema
    if output is not None and "output_schema" not in fields and not is_only_described(output):
        found.append(Loss(name, "", "output_schema", "left out"))
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


def _mapped_examples(tool: AnyTool, lowered: Lowered, losses: list[Loss]) -> list[JSONObject]:
    """The examples in the provider's shape, without those that its schema does not admit."""
    shown: list[JSONObject] = []
    is_narrow = any(loss.done == "narrowed" for loss in lowered.losses)
    check = compile_validator(lowered.schema, "input_schema").is_valid if is_narrow else None
    examples = examples_of(tool)
    if len(examples) < len(tool.examples):
        detail = "not valid without its secret"
        losses.append(Loss(tool.name, "/examples", "examples", "left out", detail))
    for index, example in enumerate(examples):
        arguments = example["input"] if example["input"] is not None else {}
        sent = arguments if lowered.mapping is None else lowered.mapping.encode(arguments)
        if check is None or check(sent):
            shown.append({**example, "input": sent})
        else:
            detail = "the exported schema does not admit it"
            losses.append(Loss(tool.name, f"/examples/{index}", "examples", "left out", detail))
    return shown


@dataclass(frozen=True, slots=True)
class _FreeFormMap(ArgumentMap):
    """Maps the text of a free-form call to the tool's one parameter."""

    parameter: str

    @property
    def renames(self) -> Mapping[str, str]:
        return {} if self.parameter == FREE_FORM_INPUT else {FREE_FORM_INPUT: self.parameter}

    def decode(self, value: JSONValue) -> JSONValue:
        return _rename(value, FREE_FORM_INPUT, self.parameter)

    def encode(self, value: JSONValue) -> JSONValue:
        return _rename(value, self.parameter, FREE_FORM_INPUT)


def _rename(value: JSONValue, old: str, new: str) -> JSONValue:
    return {new: value[old]} if isinstance(value, dict) and list(value) == [old] else value


def _free_form(tool: AnyTool, hints: JSONObject, losses: list[Loss]) -> _FreeFormMap | None:
    """The argument map of a free-form tool; None for an ordinary one."""
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
            return _FreeFormMap(name)
    raise RefusedSchema("", "a free-form tool takes exactly one parameter, a required string")
