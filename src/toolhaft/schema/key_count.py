"""Counts the object keys of accepted values, to find repeated keys without a second parse.

A repeated key is lost when JSON is parsed, so the text has more colons than the value has keys. A count that
exceeds the number of different keys in the text could hide a repeated key; a lower one only costs time.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, cast

from toolhaft.schema.json_text import count_keys

Count = Callable[[Any], int]
_FEW: Final = 8
"""A longer list is counted field by field instead of item by item, in loops that run in C."""


@dataclass(frozen=True, slots=True)
class KeyCount:
    """How to count the keys of an accepted value."""

    least: int = 0
    """The keys that every accepted value has."""
    is_exact: bool = True
    """False if a value may have had more keys than are counted."""
    one: Count | None = None
    """Counts the keys of a value; None if `least` is the count of all."""
    many: Callable[[Sequence[Any]], int] | None = None
    """Counts the keys of several values."""

    def of(self, value: object) -> int:
        """Return the number of keys of one value."""
        return self.least if self.one is None else self.one(value)

    def of_all(self, values: Sequence[Any]) -> int:
        """Return the number of keys of several values."""
        if self.one is None:
            return self.least * len(values)
        if self.many is None or len(values) < _FEW:
            return sum(map(self.one, values))
        return self.many(values)

    def at_least(self) -> "KeyCount":
        """Return the count without what can be seen in the value, which a function may have changed."""
        return KeyCount(self.least, self.is_exact and self.one is None)


class RecordFields(NamedTuple):
    """The fields of a record, by what is known about their keys."""

    required: int = 0
    """How many are required."""
    folded: int = 0
    """The keys inside of required fields that all have the same number."""
    fixed: tuple[tuple[str, int], ...] = ()
    """The other fields whose values all have the same number of keys, unless they are None."""
    counted: tuple[tuple[str, KeyCount], ...] = ()
    """The fields whose keys are counted in the value, unless it is None."""
    is_exact: bool = True
    readable: frozenset[str] = frozenset()
    """The fields that are in every record; one that was not given is None."""

    def has_fixed_count(self, declared: int) -> bool:
        """True if every value has all of the declared fields, each with a fixed number of keys inside."""
        return self.required == declared and not self.fixed and not self.counted


FIELDS_SET: Final = attrgetter("__pydantic_fields_set__")
ATTRIBUTES: Final = attrgetter("__dict__")
Inside = Callable[[Collection[str], Mapping[str, Any]], int]
"""Counts the keys inside of a record, by the names of the fields that were given and their values."""


def itself(given: Any) -> Any:  # noqa: ANN401 -- any record
    """Return a dictionary: its keys are what was given, and its values are its values."""
    return given


def inside_count(fields: RecordFields) -> Inside | None:
    """Return the function that counts the keys inside of fields; None if the folded number is all."""
    folded, fixed = fields.folded, fields.fixed
    counted = tuple((name, cast("Count", count.one)) for name, count in fields.counted)
    if not fixed and not counted:
        return None

    def inside(given: Collection[str], values: Mapping[str, Any]) -> int:
        total = folded
        for name, size in fixed:
            if name in given and values[name] is not None:
                total += size
        for name, count in counted:
            if name in given and (value := values[name]) is not None:
                total += count(value)
        return total

    return inside


def dict_count(fields: RecordFields) -> Count:
    """Return the function that counts the keys of a dictionary and inside of it."""
    folded, fixed = fields.folded, fields.fixed
    counted = tuple((name, cast("Count", count.one)) for name, count in fields.counted)

    if len(fixed) == 1 and not counted:  # mostly one object among scalars: without loops
        ((only, own_size),) = fixed
        return lambda given: len(given) + folded + (0 if given.get(only) is None else own_size)

    def one(given: dict[str, Any]) -> int:
        total = len(given) + folded
        for name, size in fixed:
            if given.get(name) is not None:
                total += size
        for name, count in counted:
            if (value := given.get(name)) is not None:
                total += count(value)
        return total

    return one


def column_count(
    fields: RecordFields, given_of: Callable[[Any], Any], values_of: Callable[[Any], Any]
) -> Callable[[Sequence[Any]], int]:
    """Return the function that counts the keys of many records, one field of all of them after the other."""

    def column(records: Sequence[Any], given: list[Any], name: str) -> list[Any]:
        values: Iterable[Any]
        if name in fields.readable:
            values = map(itemgetter(name), map(values_of, records))
        else:
            values = [
                values_of(one)[name] for one, names in zip(records, given, strict=True) if name in names
            ]
        return [value for value in values if value is not None]

    def many(records: Sequence[Any]) -> int:
        given = list(map(given_of, records))
        total = sum(map(len, given)) + fields.folded * len(records)
        for name, size in fields.fixed:
            total += size * len(column(records, given, name))
        for name, count in fields.counted:
            total += count.of_all(column(records, given, name))
        return total

    return many


def open_model_count(inside: Inside | None, folded: int, *, is_plain: bool) -> Count:
    """Return the function that counts the keys of a model with extra fields, also inside of plain ones."""

    def one(model: Any) -> int:  # noqa: ANN401 -- any model
        given, extra = model.__pydantic_fields_set__, model.__pydantic_extra__
        total = len(given) + (folded if inside is None else inside(given, model.__dict__))
        return total + count_keys(extra) - len(extra) if extra and is_plain else total

    return one
