"""Repairs values that a model wrote in the wrong JSON type, where the schema leaves no doubt."""

from typing import Final

from toolhaft.schema.json_schema import (
    BranchCheck,
    applied_schemas,
    contradicts,
    member_schemas,
    optional_declarations,
    type_name,
    types_of,
    unique,
)
from toolhaft.schema.json_text import NumberTexts, has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import Repair, render_path

_MAX_STEPS: Final = 8_000
_MAX_VALID_STEPS: Final = 100_000
"""Schemas of values that are visited; a value that needs more is not repaired."""
_COMPARED_PER_VISIT: Final = 6
_MAX_COMPARED: Final = _COMPARED_PER_VISIT * _MAX_STEPS
"""Branches of unions that are compared with an object; a value that needs more is not repaired."""


class TooMuchError(ValueError):
    """The value has more parts than a repair may visit."""


class InexactIntegerError(ValueError):
    """A number that is nearly an integer, such as 0.99999999999999999999, is where an integer is wanted."""

    def __init__(self, path: ValuePath) -> None:
        super().__init__(render_path(path))
        self.path = path


def repair(
    root: JSONObject,
    value: JSONValue,
    text: str,
    *,
    is_valid: bool = False,
    max_visits: int | None = None,
) -> tuple[JSONValue, tuple[Repair, ...]]:
    """Read a string as JSON where the schema admits no string, and 5.0 as 5 where it wants an integer.

    A null for a property that need not be there and admits no null is left out.

    Args:
        root: the schema.
        value: the value that was sent.
        text: its JSON text, in which integers such as 1e30 are exact.
        is_valid: True if the engine accepts the value; then only 5.0 for an integer needs a repair.
        max_visits: the most schemas of values to visit; None for the usual number.

    Raises:
        TooMuchError: for a value that is too large to visit.
        InexactIntegerError: for a number that only looks like an integer once it is parsed.
    """
    repairer = _Repairer(root, is_valid=is_valid)
    if max_visits is not None:
        repairer.left, repairer.left_to_compare = max_visits, _COMPARED_PER_VISIT * max_visits
    return repairer.repair([root], value, (), NumberTexts(text)), tuple(repairer.repairs)


class _Repairer:
    __slots__ = ("is_valid", "left", "left_to_compare", "repairs", "root", "sizes", "types")

    def __init__(self, root: JSONObject, *, is_valid: bool) -> None:
        self.root = root
        self.is_valid = is_valid
        self.left = _MAX_VALID_STEPS if is_valid else _MAX_STEPS
        self.left_to_compare = _MAX_COMPARED
        self.types: dict[int, frozenset[str]] = {}
        self.sizes: dict[int, int] = {}
        self.repairs: list[Repair] = []

    def repair(
        self, schemas: list[JSONValue], value: JSONValue, path: ValuePath, numbers: NumberTexts
    ) -> JSONValue:
        admitted = frozenset[str]().union(*(self._types(schema) for schema in schemas))
        if isinstance(value, float):
            read = self._to_integer(value, path, numbers, admitted)
        else:
            read = self._reread(value, path, admitted)
        if read is not value:
            self.repairs.append(Repair(path=render_path(path), was=value, now=read))
            if isinstance(value, str) and isinstance(read, dict | list):
                numbers = NumberTexts(value, len(path))
            value = read
        if isinstance(value, dict):
            return self._repair_object(schemas, value, path, numbers)
        if isinstance(value, list):
            members = ((index, self._members(schemas, index, None)) for index in range(len(value)))
            return [
                self.repair(found, value[index], (*path, index), numbers) if found else value[index]
                for index, found in members
            ]
        return value

    def _repair_object(
        self, schemas: list[JSONValue], value: JSONObject, path: ValuePath, numbers: NumberTexts
    ) -> JSONObject:
        repaired: JSONObject = {}
        fits = self._branch_check(value)
        for name, child in value.items():
            found = self._members(schemas, name, None if self.is_valid else fits)
            if child is None and self._means_not_given(schemas, name, fits):
                self.repairs.append(Repair(path=render_path((*path, name)), was=None, now=None))
            else:
                repaired[name] = self.repair(found, child, (*path, name), numbers) if found else child
        return repaired

    def _means_not_given(self, schemas: list[JSONValue], name: str, fits: BranchCheck) -> bool:
        """True for the null of a property that may be left out and whose declarations admit no null."""
        if self.is_valid:
            return False
        declared = [
            found for schema in schemas for found in optional_declarations(self.root, schema, name, fits)
        ]
        return bool(declared) and not any("null" in self._types(found) for found in declared)

    def _branch_check(self, value: JSONObject) -> BranchCheck:
        """Make a check whether a branch may be meant for an object; each branch is compared with it once."""
        known: dict[int, bool] = {}

        def fits(branch: JSONValue) -> bool:
            self.left_to_compare -= 1
            if self.left_to_compare < 0:
                raise TooMuchError
            verdict = known.get(id(branch))
            if verdict is None:
                self.left_to_compare -= len(value)
                verdict = known[id(branch)] = not contradicts(self.root, branch, value)
            return verdict

        return fits

    def _members(
        self, schemas: list[JSONValue], part: str | int, fits: BranchCheck | None
    ) -> list[JSONValue]:
        self.left -= sum(map(self._size, schemas))
        if self.left < 0:
            raise TooMuchError
        return unique(
            inner
            for schema in schemas
            for inner in member_schemas(self.root, schema, part, self.types, fits=fits)
        )

    def _types(self, schema: JSONValue) -> frozenset[str]:
        return types_of(self.root, schema, self.types)

    def _size(self, schema: JSONValue) -> int:
        """Return how many schemas have to be visited for one value."""
        if id(schema) not in self.sizes:
            self.sizes[id(schema)] = sum(1 for _ in applied_schemas(self.root, schema))
        return self.sizes[id(schema)]

    @staticmethod
    def _to_integer(
        value: float, path: ValuePath, numbers: NumberTexts, admitted: frozenset[str]
    ) -> float | int:
        """Return the integer that was written as 5.0 or 1e30, if one is wanted."""
        if "integer" not in admitted or "number" in admitted or not value.is_integer():
            return value
        exact = numbers.integer_at(path)
        if exact is None:
            raise InexactIntegerError(path)
        return exact

    def _reread(self, value: JSONValue, path: ValuePath, admitted: frozenset[str]) -> JSONValue:
        if not isinstance(value, str) or "string" in admitted or self.is_valid:
            return value
        try:
            read = read_json(value)
        except ValueError:
            return value
        if isinstance(read, str) or type_name(read) not in admitted or has_repeated_key(value, read):
            return value
        if isinstance(read, float):
            return self._to_integer(read, path, NumberTexts(value, len(path)), admitted)
        return read
