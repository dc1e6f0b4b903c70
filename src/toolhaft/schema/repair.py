"""Reads a value once more where a model wrote it in the wrong JSON type and the schema leaves no doubt.

Knows JSON Schema; every change is told, none is made where the schema admits what was written.
"""

from typing import cast

from toolhaft.schema.json_schema import children_at, type_name, types_of
from toolhaft.schema.json_text import has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue, Path
from toolhaft.schema.problems import Repair, render_path


def repair(root: JSONObject, value: JSONValue) -> tuple[JSONValue, tuple[Repair, ...]]:
    """The value with a string read as JSON where no string is admitted, and 5.0 as 5 where an integer is."""
    made: list[Repair] = []
    return _mend(root, [root], value, (), made), tuple(made)


def _mend(
    root: JSONObject, schemas: list[JSONValue], value: JSONValue, path: Path, made: list[Repair]
) -> JSONValue:
    admitted = frozenset[str]().union(*(types_of(root, schema) for schema in schemas))
    read = _reread(value, admitted)
    if read is not value:
        made.append(Repair(path=render_path(path), was=value, now=read))
        value = read
    if isinstance(value, dict):
        return {
            key: _mend(root, found, child, (*path, key), made)
            if (found := _under(root, schemas, key))
            else child
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [
            _mend(root, found, child, (*path, index), made)
            if (found := _under(root, schemas, index))
            else child
            for index, child in enumerate(value)
        ]
    return value


def _under(root: JSONObject, schemas: list[JSONValue], part: str | int) -> list[JSONValue]:
    return [child for schema in schemas for child in children_at(root, schema, part)]


def _reread(value: JSONValue, admitted: frozenset[str]) -> JSONValue:
    if value.__class__ is float:
        number = cast("float", value)
        if number.is_integer() and "integer" in admitted and "number" not in admitted:
            return int(number)
    elif value.__class__ is str and "string" not in admitted:
        text = cast("str", value)
        try:
            read = read_json(text)
        except ValueError:
            return value
        if not isinstance(read, str) and type_name(read) in admitted and not has_repeated_key(text, read):
            return (
                int(read)
                if type_name(read) == "integer" and isinstance(read, float) and "number" not in admitted
                else read
            )
    return value
