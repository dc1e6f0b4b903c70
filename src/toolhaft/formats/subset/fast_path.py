"""Lowers flat schemas, whose parameters need no reshaping, without a full walk and with the same result.

Most tools are flat. Without this module their first export to Ollama takes more than twice as long.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache
from operator import itemgetter
from typing import Final, cast

from toolhaft.formats.losses import Done, SchemaLoss, escape
from toolhaft.formats.subset.keywords import NUMBER, SILENT, STRING, VALIDATION
from toolhaft.formats.subset.nested import LocalLoss, SimpleLowering, describe_alone, inside_keyword
from toolhaft.formats.subset.normalize import has_repeated
from toolhaft.formats.subset.scan import Tally, has_declared, scanner_of, takes_keyword
from toolhaft.formats.subset.target import TargetRules
from toolhaft.formats.subset.to_description import add_notes, constraint_text, is_vacuous
from toolhaft.formats.subset.walk import Lowered
from toolhaft.schema.json_value import JSONObject, JSONValue


class _Act(Enum):
    """How one keyword is lowered."""

    KEEP = auto()
    CHECK = auto()
    """Kept if the target accepts its value, else moved to the description."""
    NOTE = auto()
    DEFAULT = auto()
    LEAVE_OUT = auto()
    STOP = auto()
    """The full walk is needed."""


_KEEP, _CHECK, _NOTE = _Act.KEEP, _Act.CHECK, _Act.NOTE
_DEFAULT, _LEAVE_OUT, _STOP = _Act.DEFAULT, _Act.LEAVE_OUT, _Act.STOP
_BY_VALUE: Final = frozenset(("format", "pattern"))
_ABOUT: Final = {"string": STRING, "integer": NUMBER, "number": NUMBER, "boolean": frozenset[str]()}


class ScalarTables:
    """How one subset lowers each keyword of a scalar, by type."""

    __slots__ = ("_by_kind", "_listing", "_other", "_rules")

    def __init__(self, rules: TargetRules) -> None:
        self._rules = rules
        self._other = _KEEP if rules.keywords is None else _LEAVE_OUT
        has_description = rules.takes("description")
        self._by_kind = (
            {kind: self._table(about) for kind, about in _ABOUT.items()} if has_description else {}
        )
        self._listing = self._table(()) if has_description and not rules.reshapes else None
        """For schemas with several types or none."""

    def _table(self, about: Iterable[str]) -> dict[str, _Act]:
        rules = self._rules
        table: dict[str, _Act] = dict.fromkeys((*VALIDATION, *SILENT, "nullable"), _STOP)
        for key in about:
            table[key] = _NOTE if not rules.takes(key) else _CHECK if key in _BY_VALUE else _KEEP
        if not rules.reshapes and rules.takes("enum") and rules.subset.enums == "any":
            table["enum"] = _KEEP
        table["default"] = _KEEP if rules.takes("default") else _DEFAULT
        table["type"] = table["description"] = _KEEP
        for key in rules.keywords or ():
            table.setdefault(key, _KEEP)
        return table

    def lower(self, node: JSONObject) -> SimpleLowering | None:
        """The lowered schema; None if the full walk is needed."""
        kind = node.get("type")
        table = self._by_kind.get(kind) if isinstance(kind, str) else self._of_listing(node, kind)
        if table is None:
            return None
        out: JSONObject = {}
        notes: list[str] = []
        losses: list[LocalLoss] = []
        last: list[tuple[str, _Act]] = []
        for key, value in node.items():
            act = table.get(key, self._other)
            if act is _KEEP or (act is _CHECK and takes_keyword(self._rules, key, value)):
                out[key] = value
            elif act is _STOP:
                return None
            elif act is _DEFAULT or act is _LEAVE_OUT:
                last.append((key, act))
            elif not is_vacuous(key, value):
                losses.append(_note(key, value, notes, "checked locally"))
        if last or notes or not isinstance(out.get("description", ""), str):
            _note_annotations(node, last, notes, losses)
            _append_notes(out, notes)
        return out, losses

    def _of_listing(self, node: JSONObject, kind: JSONValue) -> dict[str, _Act] | None:
        """The table for a schema that lists its types or values."""
        if kind is None:
            return self._listing if "enum" in node else None
        is_array = self._rules.subset.items_needed and "array" in cast("list[JSONValue]", kind)
        return None if is_array else self._listing


def _note(key: str, value: JSONValue, notes: list[str], otherwise: Done) -> LocalLoss:
    text = constraint_text(key, value)
    if not text:
        return key, otherwise, ""
    notes.append(text)
    return key, "moved to description", text


def _note_annotations(
    node: JSONObject, acts: list[tuple[str, _Act]], notes: list[str], losses: list[LocalLoss]
) -> None:
    """Add the notes and losses of the annotations, which come after those of the constraints."""
    for key, act in acts:
        losses.append(_note(key, node[key], notes, "left out") if act is _DEFAULT else (key, "left out", ""))


def _append_notes(out: JSONObject, notes: list[str]) -> None:
    before = out.get("description")
    text = add_notes(before, notes)
    if text or before == "":
        out["description"] = text
    else:
        out.pop("description", None)


@lru_cache(maxsize=64)
def scalar_tables_of(rules: TargetRules) -> ScalarTables:
    """The tables of a subset, cached."""
    return ScalarTables(rules)


_ROOT: Final = frozenset(("type", "properties", "required", "description", "additionalProperties"))
_CLOSED: Final = SchemaLoss("", "additionalProperties", "checked locally", "that there are no other keys")
_PATH: Final = itemgetter(0)


class FlatLowerer:
    """Lowers flat schemas to one subset."""

    __slots__ = ("_describes", "_is_supported", "_rules", "_scalars", "_scanner")

    def __init__(self, rules: TargetRules) -> None:
        self._rules = rules
        self._describes = rules.subset.nested == "describe"
        self._scalars = scalar_tables_of(rules)
        self._scanner = scanner_of(rules)
        needed = _ROOT - {"additionalProperties"}
        self._is_supported = (
            not rules.reshapes
            and rules.subset.root_keys is None
            and all(map(rules.takes, needed))
            and rules.root_banned.isdisjoint(_ROOT)
        )

    def lower(self, schema: JSONObject) -> Lowered | None:
        """The lowered schema; None if the full walk is needed."""
        properties = self._properties(schema)
        if properties is None:
            return None
        tally = Tally()
        losses: list[SchemaLoss] = []
        lows: JSONObject = {}
        lower_scalar = self._scalars.lower
        for name, child in properties.items():
            if not isinstance(child, dict):
                return None
            if "enum" in child and has_repeated(cast("list[JSONValue]", child["enum"])):
                return None
            low = lower_scalar(child) or self._lower_other(child, tally)
            if low is None:
                return None
            made, own_losses = low
            lows[name] = made
            if made is not child and made.get("type").__class__ is list:  # a kept schema is already counted
                tally.unions += 1
            if own_losses:
                path = f"/properties/{escape(name)}"
                losses += [SchemaLoss(path, key, done, detail) for key, done, detail in own_losses]
        losses.sort(key=_PATH)
        return self._assembled(schema, lows, losses, tally)

    def _properties(self, schema: JSONObject) -> JSONObject | None:
        """The parameters of a root without other keywords; None for any other root."""
        properties = schema.get("properties")
        if not self._is_supported or not schema.keys() <= _ROOT or not isinstance(properties, dict):
            return None
        if schema.get("type") != "object" or schema.get("additionalProperties", False) is not False:
            return None
        if self._rules.subset.declared_required and not has_declared(schema, _required(schema)):
            return None
        return properties

    def _lower_other(self, node: JSONObject, tally: Tally) -> SimpleLowering | None:
        """Lowers a parameter that is not a scalar: its inside moves to the description, or is kept."""
        keyword = inside_keyword(node) if self._describes else None
        if keyword is None:
            return (node, []) if self._scanner.scan(node, tally) else None
        low = describe_alone(self._rules.subset, node, keyword)
        return self._scalars.lower(low) if isinstance(low, dict) else low

    def _assembled(
        self, schema: JSONObject, lows: JSONObject, losses: list[SchemaLoss], tally: Tally
    ) -> Lowered:
        required = list(dict.fromkeys(_required(schema)))
        out: JSONObject = {**schema, "properties": lows}
        if required:
            out["required"] = cast("list[JSONValue]", required)
        else:
            out.pop("required", None)
        if "additionalProperties" in out and not self._rules.takes("additionalProperties"):
            del out["additionalProperties"]
            losses.insert(0, _CLOSED)
        return Lowered(out, None, tuple(losses), tally.optional + len(lows.keys() - required), tally.unions)


def _required(schema: JSONObject) -> list[str]:
    return cast("list[str]", schema.get("required", []))


@lru_cache(maxsize=64)
def flat_lowerer_of(rules: TargetRules) -> FlatLowerer:
    """The flat lowerer of a subset, cached."""
    return FlatLowerer(rules)
