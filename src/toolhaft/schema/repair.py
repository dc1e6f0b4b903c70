"""Reads a value once more where a model wrote it in the wrong JSON type and the schema leaves no doubt.

Knows JSON Schema; every change is told, none is made where the schema admits what was written.
"""

from typing import Final

from toolhaft.schema.json_schema import admitting, type_name, types_of, unique
from toolhaft.schema.json_text import has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue, Path
from toolhaft.schema.problems import Repair, render_path

_MOST_STEPS: Final = 20_000
"""Values that are looked at; a larger whole is not worth the time that refusing it may take."""


class TooMuchError(ValueError):
    """The value has more parts than a repair may look at."""


def repair(
    root: JSONObject, value: JSONValue, *, is_valid: bool = False
) -> tuple[JSONValue, tuple[Repair, ...]]:
    """The value with a string read as JSON where no string is admitted, and 5.0 as 5 where an integer is.

    Args:
        root: the schema.
        value: what was sent.
        is_valid: True where the schema takes the value; then only a 5.0 can be at odds with us.

    Raises:
        TooMuchError: for a value that is not valid and too large to look through.
    """
    mender = _Mender(root, is_valid=is_valid)
    return mender.mend([root], value, ()), tuple(mender.made)


class _Mender:
    __slots__ = ("is_valid", "left", "made", "root")

    def __init__(self, root: JSONObject, *, is_valid: bool) -> None:
        self.root = root
        self.is_valid = is_valid
        self.left = _MOST_STEPS
        self.made: list[Repair] = []

    def mend(self, schemas: list[JSONValue], value: JSONValue, path: Path) -> JSONValue:
        self.left -= 1
        if self.left < 0 and not self.is_valid:
            raise TooMuchError
        admitted = frozenset[str]().union(*(types_of(self.root, schema) for schema in schemas))
        read = self._reread(value, admitted)
        if read is not value:
            self.made.append(Repair(path=render_path(path), was=value, now=read))
            value = read
        if isinstance(value, dict):
            return {key: self._mend_part(schemas, key, child, path) for key, child in value.items()}
        if isinstance(value, list):
            return [self._mend_part(schemas, index, child, path) for index, child in enumerate(value)]
        return value

    def _mend_part(
        self, schemas: list[JSONValue], part: str | int, child: JSONValue, path: Path
    ) -> JSONValue:
        found = unique(inner for schema in schemas for inner in admitting(self.root, schema, part))
        return self.mend(found, child, (*path, part)) if found else child

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
