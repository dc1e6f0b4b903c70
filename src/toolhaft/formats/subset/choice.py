"""Which of several shapes a value has, where they go different ways: the first that fits on both sides.

Compiles a validator only when it is first asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import jsonschema_rs

from toolhaft.formats.subset.turns import Turn
from toolhaft.schema.json_schema import map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import compile_schema

_NAME: Final = "urn:toolhaft:schema"
_BRANCH: Final = "x-branch"


class Documents:
    """The tool's own schema and the wire's, for references inside their parts to lead into."""

    def __init__(self, root: JSONObject) -> None:
        self.own = root
        self.wire: JSONObject = {}
        """The wire's definitions; set when the whole schema is lowered."""

    def validator(self, part: JSONValue) -> jsonschema_rs.Validator:
        """The validator of a part of the tool's own schema."""
        name = self.own.get("$id")
        name = name if isinstance(name, str) and ":" in name else _NAME
        document: JSONObject = {**self.own, "$id": name, _BRANCH: part}
        return compile_schema({"definitions": {"own": document}, "$ref": f"{name}#/{_BRANCH}"}, "branch")

    def wire_validator(self, part: JSONObject) -> jsonschema_rs.Validator:
        """The validator of a part of the wire's schema."""
        return compile_schema({**_plain(part), "$defs": _plain_each(self.wire)}, "branch")


def _plain(schema: JSONObject) -> JSONObject:
    """A schema in which nullable is said by a type."""
    new = map_subschemas(schema, _plain)
    return {"anyOf": [new, {"type": "null"}]} if new.pop("nullable", False) is True else new


def _plain_each(schemas: JSONObject) -> JSONObject:
    return {name: _plain(schema) for name, schema in schemas.items() if isinstance(schema, dict)}


class Branch:
    """One shape of several: the tool's own schema, the wire's, and the way between them."""

    def __init__(self, own: JSONValue, wire: JSONObject, turn: Turn | None, documents: Documents) -> None:
        self.own = own
        self.wire = wire
        self.turn = turn
        self._documents = documents

    @cached_property
    def _own_validator(self) -> jsonschema_rs.Validator:
        return self._documents.validator(self.own)

    @cached_property
    def _wire_validator(self) -> jsonschema_rs.Validator:
        return self._documents.wire_validator(self.wire)

    def back(self, value: JSONValue) -> JSONValue:
        """The tool's own value, if this is its shape."""
        return value if self.turn is None else self.turn.back(value)

    def forth(self, value: JSONValue) -> JSONValue:
        """The wire's value, if this is its shape."""
        return value if self.turn is None else self.turn.forth(value)

    def fits_own(self, value: JSONValue) -> bool:
        """Whether the tool's own schema takes a value."""
        return self._own_validator.is_valid(value)

    def fits_wire(self, value: JSONValue) -> bool:
        """Whether the wire's schema takes a value."""
        return self._wire_validator.is_valid(value)


class Choice(Turn):
    """Several shapes with different ways: a value goes the way of the first that it fits."""

    def __init__(self, branches: tuple[Branch, ...]) -> None:
        self.branches = branches

    def back(self, value: JSONValue) -> JSONValue:
        """The first branch that takes it on the wire and, turned back, at home; else at home alone."""
        second: list[JSONValue] = []
        for branch in self.branches:
            turned = branch.back(value)
            if branch.fits_own(turned):
                if branch.fits_wire(value):
                    return turned
                second.append(turned)
        return second[0] if second else value

    def forth(self, value: JSONValue) -> JSONValue:
        """The first branch that takes it at home and, turned forth, on the wire; else at home alone."""
        second: list[JSONValue] = []
        for branch in self.branches:
            if branch.fits_own(value):
                turned = branch.forth(value)
                if branch.fits_wire(turned):
                    return turned
                second.append(turned)
        return second[0] if second else value

    @property
    def changes(self) -> bool:
        """Never: its branches do."""
        return False

    def parts(self) -> Iterable[Turn | None]:
        """Those of its branches."""
        return [branch.turn for branch in self.branches]
