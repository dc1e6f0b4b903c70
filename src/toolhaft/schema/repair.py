"""Repairs values that a model wrote in the wrong JSON type, where the schema leaves no doubt."""

from typing import Final

from toolhaft.schema.json_schema import member_schemas, type_name, types_of, unique
from toolhaft.schema.json_text import has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import Repair, render_path

_MAX_STEPS: Final = 20_000
"""Values that are visited; a larger value is refused without a repair."""


class TooMuchError(ValueError):
    """The value has more parts than a repair may visit."""


def repair(
    root: JSONObject, value: JSONValue, *, is_valid: bool = False
) -> tuple[JSONValue, tuple[Repair, ...]]:
    """Read a string as JSON where the schema admits no string, and 5.0 as 5 where it wants an integer.

    Args:
        root: the schema.
        value: the value that was sent.
        is_valid: True if the engine accepts the value; then only 5.0 for an integer needs a repair.

    Raises:
        TooMuchError: for a value that is not valid and too large to visit.
    """
    repairer = _Repairer(root, is_valid=is_valid)
    return repairer.repair([root], value, ()), tuple(repairer.repairs)


class _Repairer:
    __slots__ = ("is_valid", "left", "repairs", "root")

    def __init__(self, root: JSONObject, *, is_valid: bool) -> None:
        self.root = root
        self.is_valid = is_valid
        self.left = _MAX_STEPS
        self.repairs: list[Repair] = []

    def repair(self, schemas: list[JSONValue], value: JSONValue, path: ValuePath) -> JSONValue:
        self.left -= 1
        if self.left < 0 and not self.is_valid:
            raise TooMuchError
        admitted = frozenset[str]().union(*(types_of(self.root, schema) for schema in schemas))
        read = self._reread(value, admitted)
        if read is not value:
            self.repairs.append(Repair(path=render_path(path), was=value, now=read))
            value = read
        if isinstance(value, dict):
            return {key: self._repair_member(schemas, key, child, path) for key, child in value.items()}
        if isinstance(value, list):
            return [self._repair_member(schemas, index, child, path) for index, child in enumerate(value)]
        return value

    def _repair_member(
        self, schemas: list[JSONValue], part: str | int, child: JSONValue, path: ValuePath
    ) -> JSONValue:
        found = unique(inner for schema in schemas for inner in member_schemas(self.root, schema, part))
        return self.repair(found, child, (*path, part)) if found else child

    def _reread(self, value: JSONValue, admitted: frozenset[str]) -> JSONValue:
        if isinstance(value, float):
            wants_integer = "integer" in admitted and "number" not in admitted
            return int(value) if wants_integer and value.is_integer() else value
        if not isinstance(value, str) or "string" in admitted or self.is_valid:
            return value
        try:
            read = read_json(value)
        except ValueError:
            return value
        if isinstance(read, str) or type_name(read) not in admitted or has_repeated_key(value, read):
            return value
        return self._reread(read, admitted) if isinstance(read, float) else read
