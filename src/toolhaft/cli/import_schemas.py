"""A schema that somebody else declared, in the words that a YAML file has; what it loses by that is told.

Knows JSON Schema; does not know tools or files.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import map_subschemas, resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

_MOST: Final = 5_000
"""Schemas of one tool with its references written out; a few lines can stand for millions."""
_BESIDE: Final = frozenset(
    ("$defs", "$id", "$schema", "additionalProperties", "definitions", "description", "properties")
)
_UNSAID: Final = ("$comment", "title", "type", "required")
_NULL: Final = {"type": "null"}


def plain_input(schema: JSONObject, notes: list[str]) -> JSONObject:
    """The schema of what a tool takes, without references and without null.

    Raises:
        DefinitionError: where its references stand for too much.
    """
    beside = [key for key in schema if key not in _BESIDE and key not in _UNSAID]
    if beside:
        notes.append(f"not said beside its parameters: {', '.join(beside)}")
    if schema.get("additionalProperties", False) is not False:
        notes.append("it takes no other parameters than those that it names")
    return _plain(schema, notes)


def plain_output(schema: object, notes: list[str]) -> object:
    """The schema of what a tool gives, in the same way; what is no object with fields stays as it is.

    Raises:
        DefinitionError: where its references stand for too much.
    """
    return _plain(cast("JSONObject", schema), notes) if isinstance(schema, dict) else schema


def _plain(schema: JSONObject, notes: list[str]) -> JSONObject:
    members = cast("JSONObject", schema.get("properties") or {})
    required = cast("list[JSONValue]", schema.get("required") or [])
    writer = _Writer(schema)
    plain: JSONObject = {}
    for name, own in members.items():
        writer.cut = False
        made = writer.write(own, ()) if isinstance(own, dict) else own
        if writer.cut:
            notes.append(f"{name}: only the outside of what goes into itself is written")
        plain[name] = (
            _member(name, made, notes, is_required=name in required) if isinstance(made, dict) else made
        )
    kept = {key: value for key, value in schema.items() if key in ("additionalProperties", "type")}
    return {**kept, "properties": plain, "required": required}


def _member(name: str, own: JSONObject, notes: list[str], *, is_required: bool) -> JSONObject:
    said = _one_or_null(own)
    if not is_required and isinstance(said.get("required"), list):
        keys = cast("list[str]", said.pop("required"))
        notes.append(f"{name}: that it needs {', '.join(keys)} inside it is not said")
    types = said.get("type")
    if isinstance(types, list) and {*map(str, types)} - {"null"} == {"integer", "number"}:
        said["type"] = ["number", "null"] if "null" in types else "number"
    listed = said.get("enum")
    if isinstance(listed, list) and None in listed and len(listed) > 1:
        said["enum"] = [value for value in listed if value is not None]
        if "type" not in said and said.get("default", ...) is not None:
            notes.append(f"{name}: null cannot be given through the file")
    return said


def _one_or_null(own: JSONObject) -> JSONObject:
    """A schema that says by a list of choices that it may be null, with that in its type."""
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


class _Writer:
    """Writes references out: a file has no place that they could lead to."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._count = 0
        self.cut = False
        """True once a reference led into itself."""

    def write(self, node: JSONObject, within: tuple[str, ...]) -> JSONObject:
        """A schema with all that it refers to in it; `within` are the references that it stands in."""
        self._count += 1
        if self._count > _MOST:
            raise DefinitionError(
                f"its schema has more than {_MOST:,} parts once its references are written out",
                fix="write its file by hand, with fewer of them",
            )
        node = _joined(node)
        where = node.get("$ref")
        rest = {key: value for key, value in node.items() if key not in ("$ref", "$defs", "definitions")}
        if isinstance(where, str):
            found = resolve(self._root, where)
            target = found if isinstance(found, dict) else {}  # `true` says nothing
            if where in within:
                self.cut = True
                return {**{key: value for key, value in target.items() if key == "type"}, **rest}
            return self.write({**target, **rest}, (*within, where))
        return map_subschemas(rest, lambda child: self.write(child, within))


def _joined(node: JSONObject) -> JSONObject:
    """A schema without a list of one: all of one is that one."""
    parts = node.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
        return {**parts[0], **{key: value for key, value in node.items() if key != "allOf"}}
    return node
