"""Lowers a schema of one scalar type by a table, or one that only lists values or types: the short way.

Gives what the long way gives; does not know members, unions and references, and leaves them to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias, cast

from toolhaft.formats.losses import Done
from toolhaft.formats.subset.keywords import NUMBER, SILENT, STRING, VALIDATION
from toolhaft.formats.subset.notes import asks_nothing, describe, phrase
from toolhaft.formats.subset.rules import Rules
from toolhaft.formats.subset.scan import takes_keyword
from toolhaft.schema.json_value import JSONObject, JSONValue

Told: TypeAlias = tuple[str, Done, str]
"""One loss at the schema itself: the keyword, what was done, and a detail."""


Short: TypeAlias = tuple[JSONObject, list[Told]]
"""A lowered schema whose values go as they are, and what is told of it."""


class _Act(Enum):
    """What becomes of one keyword."""

    KEEP = auto()
    ASK = auto()
    """Kept where the target takes its value, else said in words."""
    SAY = auto()
    DEFAULT = auto()
    LEAVE_OUT = auto()
    STOP = auto()
    """Not for the short way."""


_KEEP, _ASK, _SAY = _Act.KEEP, _Act.ASK, _Act.SAY
_DEFAULT, _LEAVE_OUT, _STOP = _Act.DEFAULT, _Act.LEAVE_OUT, _Act.STOP
_BY_VALUE: Final = frozenset(("format", "pattern"))
_ABOUT: Final = {"string": STRING, "integer": NUMBER, "number": NUMBER, "boolean": frozenset[str]()}


class Scalars:
    """The tables of one subset: by type, what becomes of each keyword."""

    __slots__ = ("_by_kind", "_listing", "_other", "_rules")

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._other = _KEEP if rules.keywords is None else _LEAVE_OUT
        says = rules.takes("description")
        self._by_kind = {kind: self._table(about) for kind, about in _ABOUT.items()} if says else {}
        self._listing = self._table(()) if says and not rules.reshapes else None
        """For schemas without a type, or with several."""

    def _table(self, about: Iterable[str]) -> dict[str, _Act]:
        rules = self._rules
        table: dict[str, _Act] = dict.fromkeys((*VALIDATION, *SILENT, "nullable"), _STOP)
        for key in about:
            table[key] = _SAY if not rules.takes(key) else _ASK if key in _BY_VALUE else _KEEP
        if not rules.reshapes and rules.takes("enum") and rules.subset.enums == "any":
            table["enum"] = _KEEP
        table["default"] = _KEEP if rules.takes("default") else _DEFAULT
        table["type"] = table["description"] = _KEEP
        for key in rules.keywords or ():
            table.setdefault(key, _KEEP)
        return table

    def lower(self, node: JSONObject) -> Short | None:
        """The schema lowered; None for one that must go the long way."""
        kind = node.get("type")
        table = self._by_kind.get(kind) if isinstance(kind, str) else self._of_listing(node, kind)
        if table is None:
            return None
        out: JSONObject = {}
        notes: list[str] = []
        told: list[Told] = []
        last: list[tuple[str, _Act]] = []
        for key, value in node.items():
            act = table.get(key, self._other)
            if act is _KEEP or (act is _ASK and takes_keyword(self._rules, key, value)):
                out[key] = value
            elif act is _STOP:
                return None
            elif act is _DEFAULT or act is _LEAVE_OUT:
                last.append((key, act))
            elif not asks_nothing(key, value):
                told.append(_say(key, value, notes, "checked locally"))
        if last or notes or not isinstance(out.get("description", ""), str):
            _say_last(node, last, notes, told)
            _put_words(out, notes)
        return out, told

    def _of_listing(self, node: JSONObject, kind: JSONValue) -> dict[str, _Act] | None:
        """The table for a schema without one type: it lists its types, or its values."""
        if kind is None:
            return self._listing if "enum" in node else None
        is_array = self._rules.subset.items_needed and "array" in cast("list[JSONValue]", kind)
        return None if is_array else self._listing


def _say(key: str, value: JSONValue, notes: list[str], otherwise: Done) -> Told:
    words = phrase(key, value)
    if not words:
        return key, otherwise, ""
    notes.append(words)
    return key, "moved to description", words


def _say_last(node: JSONObject, acts: list[tuple[str, _Act]], notes: list[str], told: list[Told]) -> None:
    """Annotations are told after what is asked."""
    for key, act in acts:
        told.append(_say(key, node[key], notes, "left out") if act is _DEFAULT else (key, "left out", ""))


def _put_words(out: JSONObject, notes: list[str]) -> None:
    before = out.get("description")
    words = describe(before, notes)
    if words or before == "":
        out["description"] = words
    else:
        out.pop("description", None)


@lru_cache(maxsize=64)
def scalars_of(rules: Rules) -> Scalars:
    """The tables of a subset, made once for each."""
    return Scalars(rules)
