"""Chooses the branch that was meant for a value that fits no branch of a union.

Both validation engines convert their errors to `Wrong` and `WrongUnion`, so that they explain unions alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from toolhaft.schema.expected import known_names
from toolhaft.schema.json_schema import (
    alternatives,
    children_at,
    contradicts,
    required_schemas,
    unique,
)
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath

Kind = Literal["constant", "missing", "other", "type", "unclear", "unknown"]
Branches = Mapping[ValuePath, list[JSONValue]]
"""The schemas of the branches that were meant, by the path of the union."""
_MISMATCH: Final = ("type", "constant")
_BESIDE: Final = ("properties", "patternProperties", "additionalProperties", "prefixItems", "items")
"""What a schema may say about the members of a value, beside the branches for it."""
_NULL: Final[JSONValue] = {"type": "null"}
_MAX_COMPARED: Final = 20_000
"""Names that are compared to find the schemas of branches, for all problems of a call: about 5 ms."""
_MAX_ALTERNATIVES: Final = 100


class Wrong(NamedTuple):
    """One error of an engine, at the path of the value that is wrong, missing or unknown."""

    path: ValuePath
    kind: Kind
    error: Any = None


class WrongUnion(NamedTuple):
    """A value that fits no branch of a union, with the errors of each branch."""

    path: ValuePath
    branches: Sequence[Sequence["Wrong | WrongUnion"]]
    schemas: Sequence[JSONValue] = ()
    """The schema of each branch; empty if the engine does not name them."""
    declared: int | None = None
    """The branch that the union's declared discriminator names."""


class _Choice(NamedTuple):
    """The branch of one union that was meant: its schema, if known, and its errors."""

    path: ValuePath
    schema: JSONValue
    place: tuple[int, int]
    """The number of the branch, and how many there are."""
    errors: list["_Chosen"]


class _Chosen(NamedTuple):
    """An error, and the branches in which it is, from the outermost union inwards."""

    wrong: Wrong
    choices: tuple[_Choice, ...] = ()


class _Names(NamedTuple):
    """The names that a branch declares, and those that it requires."""

    declared: frozenset[str]
    required: frozenset[object]


class UnionReader:
    """Finds, for the errors of one value, those of the branches that were meant."""

    __slots__ = ("_left", "_names", "_root", "_value")

    def __init__(self, root: JSONObject, value: JSONValue) -> None:
        self._root = root
        self._value = value
        self._left = _MAX_COMPARED
        self._names: dict[int, _Names] = {}

    def read(self, errors: Iterable[Wrong | WrongUnion]) -> Iterable[tuple[Wrong, Branches]]:
        """Yield each error that concerns a branch that was meant, and the schemas of these branches.

        An `unclear` one has the path of a union in which no branch fits better than all others.
        """
        known: dict[tuple[int, ...], Branches] = {(): {}}
        for wrong, choices in self._flat(errors):
            key = tuple(map(id, choices))
            if key not in known:
                known[key] = self._narrow(choices)
            yield wrong, known[key]

    def _flat(self, errors: Iterable[Wrong | WrongUnion]) -> list[_Chosen]:
        found: list[_Chosen] = []
        for error in errors:
            if isinstance(error, Wrong):
                found.append(_Chosen(error))
            else:
                found += self._meant(error)
        return found

    def _meant(self, union: WrongUnion) -> list[_Chosen]:
        depth = len(union.path)
        branches = [self._flat(branch) for branch in union.branches]
        fitting = [number for number, errors in enumerate(branches) if not _mismatches(errors, depth)]
        if not fitting:
            return [_Chosen(Wrong(union.path, "type"))]
        if union.declared in fitting:
            fitting = [union.declared]
        if len(fitting) > 1:
            tagged = [
                number for number in fitting if not _mismatches(branches[number], depth + 1, "constant")
            ]
            wrong_tag = (
                None if tagged else _only_constant([branches[number] for number in fitting], depth + 1)
            )
            if wrong_tag is not None:
                return [_Chosen(wrong_tag)]
            fitting = tagged or fitting
        best = self._fewest(union, branches, fitting)
        errors = branches[best[0]]
        if len(best) > 1:
            problems = {tuple((wrong.path, wrong.kind) for wrong, _ in branches[number]) for number in best}
            # the same problems, whichever branch was meant
            return errors if len(problems) == 1 else [_Chosen(Wrong(union.path, "unclear"))]
        schema = union.schemas[best[0]] if union.schemas else None
        choice = _Choice(union.path, schema, (best[0], len(branches)), errors)
        return [_Chosen(wrong, (choice, *choices)) for wrong, choices in errors]

    def _fewest(self, union: WrongUnion, branches: list[list[_Chosen]], fitting: list[int]) -> list[int]:
        """Return the branches with the fewest problems."""
        if len(fitting) == 1:
            return fitting
        counts = {number: len(branches[number]) for number in fitting}
        if union.schemas:
            for number in fitting:
                counts[number] += self._undeclared(union.schemas[number], union.path)
        fewest = min(counts.values())
        return [number for number in fitting if counts[number] == fewest]

    def _undeclared(self, schema: JSONValue, path: ValuePath) -> int:
        """Count the keys of an object that a branch does not mention, though it allows them."""
        value = member(self._value, path)
        if not isinstance(value, dict):
            return 0
        names = self._names_of(schema, value)
        return 0 if names is None else len(value.keys() - names.declared)

    def _names_of(self, schema: JSONValue, value: JSONObject) -> _Names | None:
        """Return the names in a branch; None if there are none, or too many were compared before."""
        names = self._names.get(id(schema))
        if names is None:
            lists = (node.get("required") for node in required_schemas(self._root, schema))
            required = frozenset(name for each in lists if isinstance(each, list) for name in each)
            names = self._names[id(schema)] = _Names(frozenset(known_names(self._root, schema)), required)
        self._left -= len(names.declared) + len(value)
        return names if names.declared and self._left > 0 else None

    def _narrow(self, choices: tuple[_Choice, ...]) -> Branches:
        found: dict[ValuePath, list[JSONValue]] = {}
        for choice in choices:
            path = choice.path
            before = found.get(path) or schemas_at(self._root, path, found)
            meant = [choice.schema] if choice.schema is not None else self._similar(before, choice)
            if meant:
                nodes = [node for schema in before for node in required_schemas(self._root, schema)]
                own = [{key: node[key] for key in _BESIDE if key in node} for node in nodes]
                found[path] = [*filter(None, own), *meant]
        return found

    def _similar(self, schemas: list[JSONValue], choice: _Choice) -> list[JSONValue]:
        """Return the branches that these errors are about: the same names are missing and unknown in them."""
        branches = self._leaves(schemas) if self._left > 0 else []
        self._left -= len(branches)
        value = member(self._value, choice.path)
        if isinstance(value, dict):
            best = self._with_same_names(branches, value, choice)
            if best:
                return best
        number, count = choice.place
        return branches[number : number + 1] if len(branches) == count else []

    def _with_same_names(
        self, branches: list[JSONValue], value: JSONObject, choice: _Choice
    ) -> list[JSONValue]:
        members = [wrong for wrong, _ in choice.errors if len(wrong.path) == len(choice.path) + 1]
        missing = {str(wrong.path[-1]) for wrong in members if wrong.kind == "missing"}
        unknown = {str(wrong.path[-1]) for wrong in members if wrong.kind == "unknown"}
        best: list[JSONValue] = []
        least = len(value) + len(missing) + 1
        for branch in branches:
            names = self._names_of(branch, value)
            if names is None or contradicts(self._root, branch, value):
                continue
            differences = len(missing ^ (names.required - value.keys()))
            differences += len(unknown ^ (value.keys() - names.declared))
            if differences < least:
                best, least = [], differences
            best += [branch] if differences == least else []
        return best

    def _leaves(self, schemas: list[JSONValue]) -> list[JSONValue]:
        """Return the alternatives in these schemas that are not unions themselves, without null."""
        leaves: list[JSONValue] = []
        waiting, seen = list(schemas), set[int]()
        for schema in waiting:  # grows
            if id(schema) in seen or len(seen) > _MAX_ALTERNATIVES:
                continue
            seen.add(id(schema))
            inner = [each for node in required_schemas(self._root, schema) for each in alternatives(node)]
            waiting += inner
            leaves += [] if inner or schema == _NULL else [schema]
        return leaves


def member(value: Any, path: ValuePath) -> JSONValue:  # noqa: ANN401 -- any JSON value
    """Return the part of a value at a path."""
    for part in path:
        value = value[part]
    return value


def schemas_at(root: JSONObject, path: ValuePath, branches: Branches) -> list[JSONValue]:
    """Return the schemas that apply, or may apply, to the value at a path, in these branches of unions."""
    found: list[JSONValue] = [root]
    for depth, part in enumerate(path):
        found = branches.get(path[:depth], found) if branches else found
        found = unique(child for schema in found for child in children_at(root, schema, part))
    return branches.get(path, found)


def _mismatches(errors: list[_Chosen], depth: int, *kinds: Kind) -> bool:
    """True if the value at this depth has the wrong type, or is none of the allowed constants."""
    return any(len(wrong.path) == depth and wrong.kind in (kinds or _MISMATCH) for wrong, _ in errors)


def _only_constant(branches: list[list[_Chosen]], depth: int) -> Wrong | None:
    """Return one error of the member whose constant no branch has; None if there are several such members."""
    wrong = [
        each
        for errors in branches
        for each, _ in errors
        if each.kind == "constant" and len(each.path) == depth
    ]
    return wrong[0] if len({each.path for each in wrong}) == 1 else None
