"""What a tool of any door says in the fields of a YAML file, and what it cannot say there.

Knows tools and the names of the fields; does not know text or files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar, cast

from toolhaft.core.example import ToolExample
from toolhaft.core.policy import settle_options
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.running.spec import RunSpec
from toolhaft.define.yaml.events import Flaw
from toolhaft.define.yaml.fields import FIELDS, OWN_FIELDS, TYPES
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import type_name
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_LISTED: Final = frozenset(("type", "properties", "required"))


def words_of(tool: Tool[ParamsT, ResultT]) -> JSONObject:
    """Every field of a tool but its parameters and returns, defaults written out.

    Raises:
        DefinitionError: where an example or the metadata is not JSON.
    """
    words: dict[str, object] = {key: getattr(tool, key) for key in OPTION_NAMES if key != "title"}
    words |= {key: getattr(tool, key, default) for key, (_, default) in OWN_FIELDS.items()}
    run = cast("RunSpec | None", getattr(tool, "run", None))
    words["run"] = None if run is None else run.fields
    words["is_active"] = getattr(tool, "says_active", None)  # said to be false is more than not said
    words |= {"id": tool.name, "name": tool.title or tool.name, "description": tool.description}
    words["examples"] = [_example(example) for example in tool.examples]
    return {key: _json(tool.name, key, words[key]) for key in FIELDS if key in words}


def fields_of(tool: Tool[ParamsT, ResultT]) -> JSONObject:
    """The fields of a new file for a tool; those that hold their default are left out.

    Raises:
        DefinitionError: with everything about the tool that has no place in YAML.
    """
    own = {key: default for key, (_, default) in OWN_FIELDS.items()}
    defaults = {**settle_options({}), **own, "is_active": None, "run": None}
    fields: JSONObject = {
        key: value
        for key, value in words_of(tool).items()
        if key not in defaults or not is_same(value, _json(tool.name, key, defaults[key]))
    }
    troubles: list[Flaw] = []
    parameters = _members("parameter", tool.input_schema, troubles)
    returns = _returns(tool.output_schema, troubles)
    if troubles:
        raise cannot_say(tool.name, troubles)
    if parameters:
        fields["parameters"] = parameters
    if returns:
        fields["returns"] = returns
    return {key: fields[key] for key in FIELDS if key in fields}


def cannot_say(name: str, flaws: list[Flaw]) -> DefinitionError:
    """The error for a tool that no YAML file can hold; there is no file yet, so the lines are not told."""
    if len(flaws) == 1:
        return DefinitionError(f"YAML cannot say it: {flaws[0].what}", tool=name, fix=flaws[0].fix)
    told = "".join(f"\n- {flaw.what}. Fix: {flaw.fix}" for flaw in flaws)
    return DefinitionError(f"YAML cannot say it:{told}", tool=name)


def is_same(one: JSONValue, other: JSONValue) -> bool:
    """True if two values are the same JSON; in Python, 1 is also True."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def has_same_schemas(one: Tool[ParamsT, ResultT], other: Tool[ParamsT, ResultT]) -> bool:
    """True if two tools take and give the same, however little their schemas say of it."""
    inputs = (_essence(tool.input_schema, "parameter") for tool in (one, other))
    outputs = (_essence(tool.output_schema, "return field") for tool in (one, other))
    return is_same(*inputs) and is_same(*outputs)


def _example(example: ToolExample[object, object]) -> dict[str, object]:
    said: dict[str, object] = {"description": example.description} if example.description else {}
    said["input"] = example.input
    return said if example.output is None else {**said, "output": example.output}


def _json(name: str, key: str, value: object) -> JSONValue:
    try:
        return read_json(object_to_text(value))
    except (NotJSONError, ValueError) as error:
        what = f"the value is not JSON: {error!s:.200}"
        raise DefinitionError(what, tool=name, place=key, fix="use only what JSON has") from error


def _essence(schema: object, kind: str) -> JSONValue:
    """A schema without what goes without saying, its required names in one order."""
    if not isinstance(schema, dict):
        return cast("JSONValue", schema)
    said = cast("JSONObject", schema)
    parts = {key: value for key, value in said.items() if not _is_implied(kind, key, value)}
    properties = cast("JSONObject", said.get("properties", {}))
    parts["properties"] = {name: _typed(own) for name, own in properties.items()}
    parts["required"] = cast("list[JSONValue]", sorted(cast("list[str]", said.get("required", []))))
    return parts


def _typed(schema: JSONValue) -> JSONValue:
    """A property with its type said, where the values that it allows are all of one."""
    if not isinstance(schema, dict) or "type" in schema:
        return schema
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    types = {type_name(value) for value in values} if isinstance(values, list) else set[str]()
    return {"type": types.pop(), **schema} if len(types) == 1 else schema


def _is_implied(kind: str, key: str, value: object) -> bool:
    if key == "$schema":
        return value == _DRAFT
    return key == "additionalProperties" and value is False and kind == "parameter"


def _returns(schema: object, troubles: list[Flaw]) -> list[JSONValue]:
    if schema is None:
        return []
    said: Mapping[str, object] = cast("JSONObject", schema) if isinstance(schema, dict) else {}
    if said.get("type") != "object" or not said.get("properties"):
        what = "the output is not an object with named fields"
        troubles.append(Flaw(line=0, what=what, fix="return such an object, or leave the output unsaid"))
        return []
    return _members("return field", said, troubles)


def _members(kind: str, schema: Mapping[str, object], troubles: list[Flaw]) -> list[JSONValue]:
    """The properties of an object, as the items of a list."""
    for key, value in schema.items():
        if key not in _LISTED and not _is_implied(kind, key, value):
            what = f"{key!r:.80} stands beside the {kind}s"
            troubles.append(Flaw(line=0, what=what, fix="say it inside them, or keep the tool as it is"))
    required = cast("list[str]", schema.get("required", []))
    members: list[JSONValue] = []
    for name, bare in cast("JSONObject", schema.get("properties", {})).items():
        own = _typed(bare)
        found = list(_unsaid(own, is_required=name in required))
        troubles += [Flaw(line=0, what=f"{kind} {name!r:.80} {what}", fix=fix) for what, fix in found]
        if isinstance(own, dict) and not found:
            optional: JSONObject = {} if name in required else {"required": False}
            members.append({"name": name, "type": own["type"], **optional, **own})
    return members


def _unsaid(schema: JSONValue, *, is_required: bool) -> Iterator[tuple[str, str]]:
    """What an item of a list cannot say of a property, each with its fix."""
    if not isinstance(schema, dict) or schema.get("type") not in TYPES:
        yield "has no one simple type", f"give it one of {', '.join(TYPES)}"
        return
    if not schema.get("description"):
        yield "has no description", "describe it"
    if "default" in schema and schema["default"] is None:
        yield "has null for its default", "leave the default out"
    if not is_required and "required" in schema:
        yield "is optional and has required keys of its own", "make it required, or its keys optional"
