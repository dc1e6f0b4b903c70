"""Writes a tool, defined in any way, as the fields or the text of a YAML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from types import EllipsisType
from typing import Final, TypeAlias, cast

from toolhaft.core.conversion import AnyTool, to_tool
from toolhaft.core.example import ToolExample
from toolhaft.core.options import metadata_options, resolve_options
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.define.running.run_block import RunSpec
from toolhaft.define.yaml.definition import YamlDefinition, read_definition
from toolhaft.define.yaml.document import YamlNode, read_document
from toolhaft.define.yaml.emitter import change_text, write_mapping
from toolhaft.define.yaml.events import YamlProblem
from toolhaft.define.yaml.fields import FIELDS, OWN_FIELDS, TYPES
from toolhaft.define.yaml.parsing import MAX_FILE_SIZE, make_tool
from toolhaft.define.yaml.suspicious import invisible_problems
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.errors import DefinitionError
from toolhaft.formats.description_text import description_with_result
from toolhaft.schema.json_schema import holds_secret, type_name
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue

_Example: TypeAlias = ToolExample[object, object]
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_LISTED: Final = frozenset(("type", "properties", "required"))
_SCHEMAS: Final = ("parameters", "returns")
_CONVERTED: Final = tuple({*OPTION_NAMES} - {"effect", "tags", "title", "version", "when_to_use"})
"""The options that a tool may hold in another form than the file."""
_SET_BY_PLATFORM: Final = ("owner", "created_at", "updated_at", "is_active", "endpoint")
"""The fields that are taken out of a text, instead of being null, if they have no value."""
_TOGETHER: Final = frozenset(("examples", "idempotency"))
"""The fields that are checked with the parameters: only the tool knows whether they are valid."""
_SIZES: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_VALUES: Final = ("enum", "const", "default", "required", "additionalProperties")
_FLAT: Final = frozenset(
    ("type", "title", "description", "deprecated", "format", *_VALUES, *_SIZES, *_NUMBERS)
)
"""The keywords of schemas that, if each is valid alone, are valid together."""
_MAX_FLAT: Final = 100
_MAX_FLAT_DEPTH: Final = 8


def _all_fields(tool: AnyTool) -> JSONObject:
    """Return every field of a tool except parameters and returns, including defaults.

    Raises:
        DefinitionError: if an example or the metadata is not JSON.
    """
    fields: dict[str, object] = {key: getattr(tool, key) for key in OPTION_NAMES if key != "title"}
    fields |= {key: getattr(tool, key, default) for key, (_, default) in OWN_FIELDS.items()}
    run = cast("RunSpec | None", getattr(tool, "run", None))
    fields["run"] = None if run is None else run.fields
    fields["is_active"] = getattr(tool, "is_active_in_file", None)  # False in the file differs from no value
    fields |= {"id": tool.name, "name": tool.title or tool.name, "description": description_with_result(tool)}
    fields["examples"] = [_example(example) for example in tool.examples]
    return {key: _json(tool.name, key, fields[key]) for key in FIELDS if key in fields}


def tool_fields(tool: object) -> JSONObject:
    """Return the YAML fields of a tool that is defined in any way, in the file's order, without defaults.

    Raises:
        DefinitionError: with everything about the tool that YAML cannot express.
    """
    made = to_tool(tool)
    fields = _without_defaults(_all_fields(made))
    problems: list[YamlProblem] = []
    parameters = _items_of("parameter", made.input_schema, problems)
    returns = _returns(made.output_schema, problems)
    if problems:
        raise _not_expressible(made.name, problems)
    if parameters:
        fields["parameters"] = parameters
    if returns:
        fields["returns"] = returns
    return {key: fields[key] for key in FIELDS if key in fields}


def quick_fields(text: str) -> JSONObject | None:
    """Return the `tool_fields` of the tool that a text defines, without making the tool.

    None if the text has errors, or more than its single fields and parameters has to be checked: examples,
    idempotency, schemas with references, alternatives, patterns or secrets.
    """
    root, problems = read_document(text) if len(text) <= MAX_FILE_SIZE else (None, [])
    if root is None or not isinstance(root.value, dict) or not root.value.keys().isdisjoint(_TOGETHER):
        return None
    problems += invisible_problems(text, root)
    definition = read_definition(root, problems)
    if any(problem.level == "error" for problem in problems) or not _has_flat_schemas(definition):
        return None
    items = _items_of("parameter", definition.input_schema, problems)
    returns = _returns(definition.output_schema, problems)
    if any(problem.level == "error" for problem in problems):
        return None
    if "examples" in cast("JSONObject", definition.fields.get("metadata") or {}):
        return None
    own = {**definition.fields, "parameters": items, "returns": returns}
    if given := [key for key in _CONVERTED if key in own]:
        try:
            options = resolve_options({key: own[key] for key in ("effect", *given) if key in own})
        except DefinitionError:
            return None
        own |= {key: _json("", key, options[key]) for key in given}
    if definition.run is not None:
        own["run"] = definition.run.fields
    fields = cast("JSONObject", {key: own[key] for key in FIELDS if key in own})
    return _without_defaults({key: value for key, value in fields.items() if key not in _SCHEMAS or value})


def _has_flat_schemas(definition: YamlDefinition) -> bool:
    """True if the schemas are valid as a whole, since their parts are."""
    for schema in (definition.input_schema, definition.output_schema or {}):
        properties = cast("dict[str, JSONObject]", schema.get("properties", {}))
        if len(properties) > _MAX_FLAT or not all(map(_is_flat, properties.values())):
            return False
    return not holds_secret(definition.input_schema)


def _is_flat(schema: JSONValue, depth: int = 0) -> bool:
    if not isinstance(schema, dict) or depth > _MAX_FLAT_DEPTH:
        return False
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            if len(value) > _MAX_FLAT or not all(_is_flat(child, depth + 1) for child in value.values()):
                return False
        elif key == "items":
            if not _is_flat(value, depth + 1):
                return False
        elif key not in _FLAT or _has_objects(value):
            return False
    return True


def _has_objects(value: JSONValue) -> bool:
    """True for data that could be mistaken for a schema."""
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
    )


def _without_defaults(fields: JSONObject) -> JSONObject:
    defaults = _defaults()
    if metadata := fields.get("metadata"):
        inherited = _from_metadata(cast("JSONObject", metadata))
        defaults = {**defaults, **inherited}
    return {
        key: value
        for key, value in fields.items()
        if key not in defaults or not _is_same(value, defaults[key])
    }


def _from_metadata(metadata: JSONObject) -> JSONObject:
    """The fields that a file may leave out because its metadata has them."""
    found = metadata_options(metadata)
    if "examples" in found:
        found["examples"] = [_example(one) for one in cast("tuple[_Example, ...]", found["examples"])]
    return {key: _json("", key, value) for key, value in found.items()}


@cache
def _defaults() -> JSONObject:
    """The fields that a file may leave out, with the values that they have then."""
    yaml_only = {key: default for key, (_, default) in OWN_FIELDS.items()}
    defaults = {**resolve_options({}), **yaml_only, "is_active": None, "run": None}
    return {key: _json("", key, value) for key, value in defaults.items()}


def _not_expressible(name: str, problems: list[YamlProblem]) -> DefinitionError:
    """Make the error for a tool that YAML cannot express; there is no file yet, so it has no lines."""
    if len(problems) == 1:
        return DefinitionError(f"YAML cannot express it: {problems[0].what}", tool=name, fix=problems[0].fix)
    lines = "".join(f"\n- {problem.what}. Fix: {problem.fix}" for problem in problems)
    return DefinitionError(f"YAML cannot express it:{lines}", tool=name)


def _is_same(one: JSONValue, other: JSONValue) -> bool:
    """True if two values are the same JSON; in Python, 1 == True."""
    if one is None or other is None:
        return one is other
    if type(one) is type(other):  # most values are simple, and are compared for every field of every tool
        if isinstance(one, str | int):
            return one == other
        if not one or not other:
            return not one and not other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _has_same_schemas(one: AnyTool, other: AnyTool) -> bool:
    """True if the schemas of two tools mean the same."""
    inputs = (_normalized(tool.input_schema, "parameter") for tool in (one, other))
    outputs = (_normalized(tool.output_schema, "return field") for tool in (one, other))
    return _is_same(*inputs) and _is_same(*outputs)


def _example(example: _Example) -> dict[str, object]:
    fields: dict[str, object] = {"description": example.description} if example.description else {}
    fields["input"] = example.input
    return fields if example.output is None else {**fields, "output": example.output}


def _json(name: str, key: str, value: object) -> JSONValue:
    if value is None or isinstance(value, bool) or (type(value) is str and value.isascii()):
        return value
    try:
        return read_json(object_to_text(value))
    except (NotJSONError, ValueError) as error:
        what = f"the value is not JSON: {error!s:.200}"
        raise DefinitionError(what, tool=name, place=key, fix="use only what JSON has") from error


def _normalized(schema: object, kind: str) -> JSONValue:
    """Remove implied keywords from a schema, and sort its required names."""
    if not isinstance(schema, dict):
        return cast("JSONValue", schema)
    keywords = cast("JSONObject", schema)
    parts = {key: value for key, value in keywords.items() if not _is_implied(kind, key, value)}
    properties = cast("JSONObject", keywords.get("properties", {}))
    parts["properties"] = {name: _typed(own) for name, own in properties.items()}
    parts["required"] = cast("list[JSONValue]", sorted(cast("list[str]", keywords.get("required", []))))
    return parts


def _typed(schema: JSONValue) -> JSONValue:
    """Add the type to a property whose allowed values are all of one type."""
    if not isinstance(schema, dict) or "type" in schema:
        return schema
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    types = {type_name(value) for value in values} if isinstance(values, list) else set[str]()
    return {"type": types.pop(), **schema} if len(types) == 1 else schema


def _is_implied(kind: str, key: str, value: object) -> bool:
    if key == "$schema":
        return value == _DRAFT
    if key == "description":  # of the result as a whole: each of its fields has its own
        return kind == "return field"
    return key == "additionalProperties" and value is False and kind == "parameter"


def _returns(schema: object, problems: list[YamlProblem]) -> list[JSONValue]:
    if schema is None:
        return []
    keywords: Mapping[str, object] = cast("JSONObject", schema) if isinstance(schema, dict) else {}
    if keywords.get("type") != "object" or not keywords.get("properties"):
        what = "the output is not an object with named fields"
        problems.append(YamlProblem(line=0, what=what, fix="return such an object, or declare no output"))
        return []
    return _items_of("return field", keywords, problems)


def _items_of(kind: str, schema: Mapping[str, object], problems: list[YamlProblem]) -> list[JSONValue]:
    """Return the properties of an object as the items of a list."""
    for key, value in schema.items():
        if key not in _LISTED and not _is_implied(kind, key, value):
            what = f"{key!r:.80} is declared next to the {kind}s"
            problems.append(
                YamlProblem(line=0, what=what, fix="declare it inside them, or do not convert the tool")
            )
    required = cast("list[str]", schema.get("required", []))
    members: list[JSONValue] = []
    for name, bare in cast("JSONObject", schema.get("properties", {})).items():
        typed = _typed(bare)
        found = list(_not_expressible_in_item(typed, is_required=name in required))
        problems += [YamlProblem(line=0, what=f"{kind} {name!r:.80} {what}", fix=fix) for what, fix in found]
        if isinstance(typed, dict) and not found:
            flag = _required(typed, is_required=name in required)
            members.append({"name": name, "type": typed["type"], **flag, **typed})
    return members


def _required(schema: JSONObject, *, is_required: bool) -> JSONObject:
    """Return the `required` of an item, where it is not implied: an item with a default is optional."""
    is_implied = "required" in schema or (is_required and "default" not in schema)
    return {} if is_implied else {"required": is_required}


def _not_expressible_in_item(schema: JSONValue, *, is_required: bool) -> Iterator[tuple[str, str]]:
    """Yield what an item of a list cannot express of a property, each with its fix."""
    if not isinstance(schema, dict) or schema.get("type") not in TYPES:
        yield "does not have one simple type", f"give it one of {', '.join(TYPES)}"
        return
    if not schema.get("description"):
        yield "has no description", "describe it"
    if "required" in schema and is_required is ("default" in schema):
        if is_required:
            yield "is required, has a default and lists required keys", "leave the default out"
        else:
            yield "is optional and lists required keys", "make it required, or its keys optional"


def write_tool(tool: object) -> str:
    """Return the YAML text of a tool that is defined in any way, as `dump_tool` writes it.

    Raises:
        DefinitionError: if YAML cannot express the tool.
    """
    made = to_tool(tool)
    text = _write(made)
    _check_round_trip(made, text)
    return text


def _write(tool: AnyTool) -> str:
    if not isinstance(tool, YamlTool):
        return write_mapping(tool_fields(tool))
    text = tool.text
    root, _ = read_document(text)
    before = _all_fields(cast("AnyTool", make_tool(text, tool.source, [], None)))
    changes: dict[str, JSONValue | EllipsisType] = {
        key: value for key, value in _all_fields(tool).items() if not _is_same(value, before[key])
    }
    node = cast("YamlNode", root)
    # null is not a value of is_active; of a mapping on one line, only one key can be taken out
    for key in ("is_active",) if node.style == "flow" else _SET_BY_PLATFORM:
        if changes.get(key, ...) is None:
            changes[key] = ...
    return change_text(text, node, changes, tuple(FIELDS)) if changes else text


def _check_round_trip(tool: AnyTool, text: str) -> None:
    """Check that the text reads back as the same tool."""
    problems: list[YamlProblem] = []
    again = make_tool(text, tool.source, problems, None)
    if again is None:
        raise _not_expressible(tool.name, [problem for problem in problems if problem.level == "error"])
    written, read = _all_fields(tool), _all_fields(again)
    changed = [key for key, value in written.items() if not _is_same(value, read[key])]
    if not _has_same_schemas(tool, again):
        changed.append("parameters")
    if changed:
        fix = "write the file by hand, without anchors there"
        raise _not_expressible(
            tool.name,
            [YamlProblem(line=0, what=f"{key} would be read back changed", fix=fix) for key in changed],
        )
