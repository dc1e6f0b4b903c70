"""Reads a YAML document as the definition of a tool and collects all problems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from toolhaft.core.options import closest_option
from toolhaft.define.running.literal_secrets import has_token_in
from toolhaft.define.running.parameters import Parameters, RunProblems, parameters_of
from toolhaft.define.running.run_block import RunSpec, read_run
from toolhaft.define.yaml.document import YamlEntry, YamlNode, plain_value
from toolhaft.define.yaml.events import YamlProblem
from toolhaft.define.yaml.fields import FIELDS, PARAMETER_FIELDS, RETURN_FIELDS, FieldCheck, quote
from toolhaft.define.yaml.value_limits import impossible_limits
from toolhaft.errors import DefinitionError
from toolhaft.schema.expected import expected
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import InvalidArguments, ValidArguments
from toolhaft.schema.raw import compile_raw, compile_raw_output

_TEXTS: Final = frozenset(("description", "title"))
_MAX_REMEMBERED: Final = 1_000
"""The length of a schema whose check is remembered."""
_DEFAULTED: Final = frozenset(("type", "default"))
_LIMITS: Final = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
_MAX_VALUES: Final = 50
_NOT_SCHEMA: Final = frozenset(("name", "required", "default"))


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlDefinition:
    """The content of a file: its fields, the schemas made from its lists, and its `run` block."""

    fields: Mapping[str, object]
    input_schema: JSONObject
    output_schema: JSONObject | None
    run: RunSpec | None
    lines: Mapping[str, int]


def read_definition(root: YamlNode, problems: list[YamlProblem]) -> YamlDefinition:
    """Read the definition in a document; problems are appended to `problems`."""
    entries = _entries(root) or {}
    reader = _Reader(problems)
    fields: dict[str, object] = {}
    if isinstance(root.value, dict):
        fields = reader.fields(root, FIELDS, ("id", "name", "description"))
    else:
        fix = "write id: ..., name: ... and description: ..., one key per line"
        problems.append(YamlProblem(line=root.line, what="the file is not a mapping", fix=fix))
    returns = reader.schema_of("return field", entries.get("returns"), RETURN_FIELDS)
    input_schema = reader.schema_of("parameter", entries.get("parameters"), PARAMETER_FIELDS)
    output_schema = returns if returns["properties"] else None
    return YamlDefinition(
        fields=fields,
        input_schema=input_schema,
        output_schema=output_schema,
        run=_read_run(entries, parameters_of(input_schema, output_schema, fields.get("effect")), problems),
        lines={key: entry.line for key, entry in entries.items()},
    )


def _read_run(
    entries: Mapping[str, YamlEntry], parameters: Parameters, problems: list[YamlProblem]
) -> RunSpec | None:
    entry = entries.get("run")
    if entry is None or entry.node.value is None:
        return None
    run_problems = RunProblems()
    # a parameter with a problem is still known here, so that each problem is reported once
    everything = parameters.with_names(_names(entries.get("parameters")), _names(entries.get("returns")))
    made = read_run(plain_value(entry.node), everything, run_problems)
    for problem in run_problems.found:
        line = _line_of(entry, problem.place)
        problems.append(YamlProblem(line=line, what=problem.what, fix=problem.fix, level=problem.level))
    return made


def _names(entry: YamlEntry | None) -> list[str]:
    """Return the names in a list, also of items with problems."""
    items = plain_value(entry.node) if entry is not None else None
    named = [item.get("name") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return [name for name in named if isinstance(name, str)]


def _line_of(entry: YamlEntry, place: ValuePath) -> int:
    """Return the line of the value at a path below an entry, or of its nearest parent."""
    for step in place:
        value = entry.node.value
        if isinstance(value, dict) and step in value:
            entry = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            entry = YamlEntry(line=value[step].line, node=value[step])
        else:
            break
    return entry.line


def _shape(schema: JSONObject) -> JSONObject:
    """Return the schema without what differs from file to file and does not decide whether it is valid."""
    shape = {key: value for key, value in schema.items() if key not in _TEXTS or not isinstance(value, str)}
    if "default" in shape:
        default = shape["default"]
        if shape.keys() == _DEFAULTED and _is_word(default) and shape["type"] == "string":
            shape["default"] = ""
        return shape
    for key in _LIMITS & shape.keys():
        if type(shape[key]) is int:
            shape[key] = 0
    values = shape.get("enum")
    if isinstance(values, list) and 0 < len(values) <= _MAX_VALUES and all(map(_is_word, values)):
        shape["enum"] = [""] if len(set(map(str, values))) == len(values) else values
    return shape


def _is_word(value: JSONValue) -> bool:
    return isinstance(value, str) and value.isascii() and not has_token_in(value)


@lru_cache(maxsize=4_096)
def _is_valid(schema_text: str) -> bool:
    """True if a schema and its default have no problem; most schemas occur in many files."""
    schema = cast("JSONObject", json.loads(schema_text))
    try:
        compile_raw_output(schema, "")
    except DefinitionError:
        return False
    if schema.get("default") is None:  # null means that there is no value
        return True
    result = _check_value(schema, schema["default"])
    is_exact = isinstance(result, ValidArguments) and not result.repairs
    return is_exact and not has_token_in(schema["default"])


def _check_value(schema: JSONObject, value: JSONValue) -> ValidArguments | InvalidArguments:
    contract = compile_raw({"type": "object", "properties": {"default": schema}})
    return contract.validate({"default": value})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    name: str
    label: str
    fields: Mapping[str, object]
    lines: Mapping[str, int]


def _is_required(fields: Mapping[str, object]) -> bool:
    """True unless the item says otherwise, or has a default; a list names the required keys of an object."""
    said = fields.get("required")
    return said if isinstance(said, bool) else "default" not in fields


def _entries(node: YamlNode) -> dict[str, YamlEntry] | None:
    return node.value if isinstance(node.value, dict) else None


class _Reader:
    """Reads mappings field by field and collects every problem."""

    def __init__(self, problems: list[YamlProblem]) -> None:
        self._problems = problems

    def _problem(self, line: int, what: str, fix: str) -> None:
        self._problems.append(YamlProblem(line=line, what=what, fix=fix))

    def fields(
        self,
        node: YamlNode,
        checks: Mapping[str, FieldCheck],
        required_keys: tuple[str, ...],
        prefix: str = "",
    ) -> dict[str, object]:
        """Return the valid fields of a mapping."""
        found: dict[str, object] = {}
        entries = _entries(node) or {}
        for key, entry in entries.items():
            if key not in checks:
                close = closest_option(key, checks)
                known = f"take it out; the keys are {', '.join(list(checks)[:12])}, ..."
                fix = f"did you mean {close!r}?" if close else known
                self._problem(entry.line, f"{prefix}unknown key {key!r:.80}", fix)
                continue
            try:
                found[key] = checks[key](key, plain_value(entry.node))
            except DefinitionError as error:
                place = f"{error.place}: " if error.place else ""
                line = _line_of(entry, tuple(error.place.split(".")[1:]))
                self._problem(line, f"{prefix}{place}{error.problem}", error.fix)
        for key in required_keys:
            if key not in entries:
                self._problem(node.line, f"{prefix}{key!r} is missing", f"add {key}: ...")
        return found

    def schema_of(self, kind: str, entry: YamlEntry | None, checks: Mapping[str, FieldCheck]) -> JSONObject:
        """Make the schema of an object whose members are the items of a list."""
        properties: JSONObject = {}
        required: list[JSONValue] = []
        for item in self._items(kind, entry, checks):
            schema = cast(
                "JSONObject", {key: value for key, value in item.fields.items() if key not in _NOT_SCHEMA}
            )
            if isinstance(item.fields.get("required"), list):
                schema["required"] = cast("JSONValue", item.fields["required"])
            if "default" in item.fields:
                schema["default"] = cast("JSONValue", item.fields["default"])
            self._check_schema(item, schema)
            properties[item.name] = schema
            if _is_required(item.fields):
                required.append(item.name)
        whole: JSONObject = {"type": "object", "properties": properties}
        return {**whole, "required": required} if required else whole

    def _items(self, kind: str, entry: YamlEntry | None, checks: Mapping[str, FieldCheck]) -> Iterator[_Item]:
        """Yield the items that have a name and a type."""
        seen: dict[str, int] = {}
        nodes = entry.node.value if entry is not None and isinstance(entry.node.value, list) else []
        for number, node in enumerate(nodes, 1):
            item = self._item(f"{kind} {number}", node, checks)
            if item is None:
                continue
            line = item.lines["name"]
            if item.name in seen:
                what = f"{item.label} is given twice (first on line {seen[item.name]})"
                self._problem(line, what, "rename one of the two")
            seen.setdefault(item.name, line)
            if "type" in item.fields:
                yield item

    def _item(self, label: str, node: YamlNode, checks: Mapping[str, FieldCheck]) -> _Item | None:
        entries = _entries(node)
        if entries is None:
            self._problem(
                node.line,
                f"{label} is not a mapping",
                "write - name: ..., then type: ... and description: ...",
            )
            return None
        named = entries["name"].node.value if "name" in entries else None
        if isinstance(named, str):
            label = f"{label.rpartition(' ')[0]} {named!r:.80}"
        fields = self.fields(node, checks, ("name", "type", "description"), f"{label}: ")
        if "name" not in fields:
            return None
        lines = {key: entry.line for key, entry in entries.items()}
        return _Item(name=cast("str", fields["name"]), label=label, fields=fields, lines=lines)

    def _check_schema(self, item: _Item, schema: JSONObject) -> None:
        if "required" in schema and schema["type"] != "object":
            what = f"{item.label}: only an object can list required keys"
            self._problem(item.lines["required"], what, "write true or false")
        impossible = list(impossible_limits(schema))
        for key, what, fix in impossible:
            self._problem(item.lines[key], f"{item.label}: {what}", fix)
        if impossible:
            return
        text = json.dumps(_shape(schema))
        if len(text) <= _MAX_REMEMBERED and _is_valid(text):
            return
        try:
            compile_raw_output(schema, item.label)
            if has_token_in(schema.get("default")):
                what = f"{item.label}: literal secret in its default"  # the default is not quoted
                fix = "take it out; a secret comes from the environment or .env, as ${env:NAME} in a header"
                self._problem(item.lines["default"], what, fix)
            elif schema.get("default") is not None:
                self._check_default(item, schema, schema["default"])
        except DefinitionError as error:
            self._problem(item.lines["name"], f"{error.place}: {error.problem}", error.fix)

    def _check_default(self, item: _Item, schema: JSONObject, value: JSONValue) -> None:
        wanted = expected(schema, schema)
        result = _check_value(schema, value)
        if isinstance(result, InvalidArguments):
            found = [str(problem) for problem in result.problems if problem.path != "default"]
        elif result.repairs:
            found = []
        else:
            return
        for what in found or [f"default {quote(value)} is not {wanted}"]:
            self._problem(
                item.lines["default"], f"{item.label}: {what}", f"give a default that is {wanted}, or none"
            )
