"""Simplifies JSON Schemas to what a YAML tool file can express, and notes what they lose."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import argument_schemas, map_subschemas, required_arguments, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

_MAX_SCHEMAS: Final = 5_000
"""Subschemas of one tool once its references are expanded: a few lines can expand to millions."""
_IGNORED_KEYWORDS: Final = frozenset(
    (
        "$defs",
        "$id",
        "$ref",
        "$schema",
        "additionalProperties",
        "allOf",
        "definitions",
        "description",
        "properties",
    )
)
_IMPLIED_KEYWORDS: Final = ("$comment", "title", "type", "required")
_NULL: Final = {"type": "null"}


def plain_input(schema: JSONObject, notes: list[str]) -> JSONObject:
    """The input schema of a tool, without references and without null.

    Raises:
        DefinitionError: if its references expand to too much.
    """
    lost = [key for key in schema if key not in _IGNORED_KEYWORDS and key not in _IMPLIED_KEYWORDS]
    if lost:
        notes.append(f"lost keywords of the whole schema: {', '.join(lost)}")
    if schema.get("additionalProperties", False) is not False:
        notes.append("it accepts only the parameters that it declares")
    return _plain(schema, notes)


def plain_output(schema: object, notes: list[str]) -> object:
    """The output schema of a tool, simplified in the same way; anything but an object schema stays unchanged.

    Raises:
        DefinitionError: if its references expand to too much.
    """
    return _plain(cast("JSONObject", schema), notes) if isinstance(schema, dict) else schema


def _plain(schema: JSONObject, notes: list[str]) -> JSONObject:
    members = argument_schemas(schema)
    required = cast("list[JSONValue]", required_arguments(schema))
    expander = _Expander(schema)
    plain: JSONObject = {}
    for name, own in members.items():
        expander.is_cut = False
        expanded = expander.expand(own, ()) if isinstance(own, dict) else own
        if expander.is_cut:
            notes.append(f"{name}: its recursive schema is cut off at the second level")
        plain[name] = (
            _member(name, expanded, notes, is_required=name in required)
            if isinstance(expanded, dict)
            else expanded
        )
    kept = {
        key: value for key, value in schema.items() if key in ("additionalProperties", "description", "type")
    }
    return {**kept, "properties": plain, "required": required}


def _member(name: str, own: JSONObject, notes: list[str], *, is_required: bool) -> JSONObject:
    member = _nullable_type(own)
    if not is_required and isinstance(member.get("required"), list):
        keys = cast("list[str]", member.pop("required"))
        notes.append(f"{name}: lost that it requires {', '.join(keys)}")
    types = member.get("type")
    if isinstance(types, list) and {*map(str, types)} - {"null"} == {"integer", "number"}:
        member["type"] = ["number", "null"] if "null" in types else "number"
    listed = member.get("enum")
    if isinstance(listed, list) and None in listed and len(listed) > 1:
        member["enum"] = [value for value in listed if value is not None]
        if "type" not in member and member.get("default", ...) is not None:
            notes.append(f"{name}: the file does not allow null")
    return member


def _nullable_type(own: JSONObject) -> JSONObject:
    """A schema whose anyOf or oneOf only adds null, with the null in its type instead."""
    for key in ("anyOf", "oneOf"):
        choices = own.get(key)
        others = [one for one in choices if one != _NULL] if isinstance(choices, list) else []
        if (
            len(others) == 1
            and isinstance(choices, list)
            and len(choices) > 1
            and isinstance(others[0], dict)
        ):
            rest = {name: value for name, value in own.items() if name != key}
            kind = others[0].get("type")
            return {**others[0], **({"type": [kind, "null"]} if isinstance(kind, str) else {}), **rest}
    return dict(own)


class _Expander:
    """Expands references: a YAML file has no place for shared definitions."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._count = 0
        self.is_cut = False
        """True once a recursive reference was cut off."""

    def expand(self, node: JSONObject, within: tuple[str, ...]) -> JSONObject:
        """A schema with its references replaced; `within` are the references that lead to it."""
        self._count += 1
        if self._count > _MAX_SCHEMAS:
            raise DefinitionError(
                f"its schema has more than {_MAX_SCHEMAS:,} parts once its references are expanded",
                fix="write its file by hand, with a simpler schema",
            )
        node = _merge_single_all_of(node)
        where = node.get("$ref")
        rest = {key: value for key, value in node.items() if key not in ("$ref", "$defs", "definitions")}
        if isinstance(where, str):
            found = resolve(self._root, where)
            target = found if isinstance(found, dict) else {}  # `true` allows anything
            if where in within:
                self.is_cut = True
                return {**{key: value for key, value in target.items() if key == "type"}, **rest}
            return self.expand({**target, **rest}, (*within, where))
        return map_subschemas(rest, lambda child: self.expand(child, within))


def _merge_single_all_of(node: JSONObject) -> JSONObject:
    """A schema with an allOf of one member replaced by that member."""
    parts = node.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
        return {**parts[0], **{key: value for key, value in node.items() if key != "allOf"}}
    return node
