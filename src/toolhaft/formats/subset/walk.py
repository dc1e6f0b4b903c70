"""The state of one lowering: the count of schemas, the losses, and where each derived schema came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from functools import cached_property
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from toolhaft.formats.losses import Done, RefusedSchema, SchemaLoss, escape
from toolhaft.formats.subset.argument_maps import ArgumentMap, SchemaDocuments
from toolhaft.formats.subset.keywords import HOLDERS
from toolhaft.formats.subset.target import MOST_NODES, Subset, TargetRules
from toolhaft.schema.expected import known_names
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import is_open

_PATH: Final = itemgetter(0)
_ABSENT: Final[list[JSONValue]] = []


class Nothing(Enum):
    """Why a schema has no lowered form."""

    NEVER = auto()
    """No value is valid."""
    TRUNCATED = auto()
    """A recursive schema is cut off here; the loss is reported."""


class LoweredNode(NamedTuple):
    """A lowered schema, and the map of its values (None if they are unchanged)."""

    schema: JSONObject
    mapping: ArgumentMap | None


class Lowered(NamedTuple):
    """The lowered schema of a whole tool, with its losses and the map of its arguments."""

    schema: JSONObject
    mapping: ArgumentMap | None
    """None if the arguments are unchanged."""
    losses: tuple[SchemaLoss, ...]
    optional: int
    """The number of optional properties of all objects."""
    unions: int
    """The number of unions."""
    properties: int = 0
    """The number of properties of all objects, if the target limits it."""


LoweringResult: TypeAlias = LoweredNode | Nothing
Origin: TypeAlias = tuple[JSONObject, tuple[str | int, ...]]
"""A location in the tool's schema: one of its schemas, and steps from there."""
ReportedLoss: TypeAlias = tuple[Origin, str, Done, str]
"""A loss before its pointer is looked up: location, keyword, what was done, detail."""
Position = Literal["root", "branch", "inside"]
"""Where an object is: the arguments themselves, one of several alternatives for them, or inside them."""


class Frame:
    """The losses of one part of the schema, so that they can be discarded with it."""

    __slots__ = ("is_exact", "losses")

    def __init__(self) -> None:
        self.losses: list[ReportedLoss] = []
        self.is_exact = True


class Walk(ABC):
    """The lowering of one schema to one subset."""

    def __init__(self, root: JSONObject, rules: TargetRules, *, is_closed: bool) -> None:
        self.root = root
        self.is_closed = is_closed
        """Whether nested objects without `additionalProperties` refuse other keys."""
        self.rules = rules
        self.subset: Subset = rules.subset
        self.frame = Frame()
        self.documents = SchemaDocuments(root)
        self._nodes = 0
        self._impossible_at: Origin | None = None
        self._root_branches: dict[int, JSONObject] = {}
        self._pieces_by_merge: dict[int, list[JSONObject]] = {}
        self._derived: dict[int, tuple[JSONObject, Origin]] = {}

    @cached_property
    def is_root_open(self) -> bool:
        """Whether the tool accepts arguments that it does not list."""
        return is_open(self.root)

    @cached_property
    def root_names(self) -> frozenset[str]:
        """The arguments that the tool lists anywhere."""
        return frozenset(known_names(self.root, self.root))

    @abstractmethod
    def visit(self, schema: JSONValue) -> LoweringResult:
        """Lowers a schema with everything inside it."""

    @abstractmethod
    def merged(self, node: JSONObject) -> JSONObject | None:
        """A schema with its references and allOf merged; None if no value is valid."""

    @abstractmethod
    def lower_at(self, node: JSONObject, position: Position) -> LoweringResult:
        """Lowers a schema at a position."""

    @abstractmethod
    def lowered_definitions(self) -> JSONObject:
        """The lowered definitions so far, as a document to resolve references in."""

    @abstractmethod
    def inlined(self, schema: JSONObject) -> JSONObject | None:
        """A schema with its references inlined; None if it would be too large."""

    def is_root_branch(self, node: JSONObject) -> bool:
        """Whether a schema is one of several alternatives for the tool's arguments."""
        return id(node) in self._root_branches

    def mark_root_branch(self, node: JSONObject) -> None:
        """Marks a schema as one of several alternatives for the arguments."""
        self._root_branches[id(node)] = node

    def visit_at(self, node: JSONObject, schema: JSONValue, *steps: str | int) -> LoweringResult:
        """Lowers a schema inside another; the steps lead to it."""
        if isinstance(schema, dict):
            return self.visit(schema)
        if schema is False:
            return Nothing.NEVER
        return self.visit(self.derive({}, node, *steps))

    def attempt(self, schema: JSONValue) -> JSONObject | None:
        """A schema lowered without changing which values are valid; None, without losses, if impossible."""
        outer, self.frame = self.frame, Frame()
        low = self.visit_at(self.root, schema)
        tried, self.frame = self.frame, outer
        if isinstance(low, Nothing) or low.mapping is not None or not tried.is_exact:
            return None
        outer.losses += tried.losses
        return low.schema

    def report(self, node: JSONObject, keyword: str, done: Done, detail: str = "", *steps: str | int) -> None:
        """Records a loss at a schema."""
        self.frame.losses.append(((node, steps), keyword, done, detail))
        if done != "left out":
            self.frame.is_exact = False

    def refusal(self, node: JSONObject, reason: str, *steps: str | int) -> RefusedSchema:
        """The error for a schema that the target cannot express."""
        return RefusedSchema(self.place(node, *steps), reason)

    def mark_impossible(self, node: JSONObject, *steps: str | int) -> None:
        """Records the first location at which no value is valid."""
        self._impossible_at = self._impossible_at or (node, steps)

    def impossible_error(self) -> RefusedSchema:
        """The error for a schema for which no value is valid."""
        node, steps = self._impossible_at or (self.root, ())
        return RefusedSchema(self.place(node, *steps), "no value is valid for it")

    def count_nodes(self, nodes: int = 1) -> None:
        """Counts schemas towards the limit.

        Raises:
            RefusedSchema: over the limit.
        """
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            raise RefusedSchema(
                "", f"too large: with its references inlined it has more than {MOST_NODES} schemas"
            )

    def derive(self, made: JSONObject, node: JSONObject, *steps: str | int) -> JSONObject:
        """Registers a derived schema with the location that it came from, and returns it."""
        self._derived[id(made)] = (made, (node, steps))
        self.count_nodes()
        return made

    def place(self, node: JSONObject, *steps: str | int) -> str:
        """The JSON pointer to a location in the tool's schema."""
        origin = self._origin((node, steps))
        return _pointer(origin, _places(self.root, {id(origin[0])}))

    def losses(self, frames: Iterable[Frame]) -> tuple[SchemaLoss, ...]:
        """The losses of these parts, without duplicates, ordered by pointer."""
        reported = [(self._origin(each[0], each[1]), *each[1:]) for frame in frames for each in frame.losses]
        if not reported:
            return ()
        places = _places(self.root, {id(origin[0]) for origin, *_ in reported})
        unique = dict.fromkeys(
            SchemaLoss(_pointer(origin, places), key, done, detail) for origin, key, done, detail in reported
        )
        return tuple(sorted(unique, key=_PATH))

    def merged_from(self, made: JSONObject, pieces: list[JSONObject]) -> None:
        """Records which schemas another was merged from, so that losses name the right one."""
        self._pieces_by_merge[id(made)] = pieces

    def _origin(self, origin: Origin, keyword: str = "") -> Origin:
        """The same location, starting from a schema of the tool."""
        node, steps = origin
        while id(node) in self._derived:
            pieces = self._pieces_by_merge.get(id(node), ())
            piece = next((piece for piece in pieces if _comes_from(piece, node, keyword, steps)), None)
            if piece is not None:
                node = piece
                continue
            node, before = self._derived[id(node)][1]
            steps = (*before, *steps)
        return node, steps


def _comes_from(piece: JSONObject, merged: JSONObject, keyword: str, steps: tuple[str | int, ...]) -> bool:
    """Whether a keyword of a merged schema, or the target of the steps, comes from this piece."""
    if not steps:
        return keyword in piece and keyword in merged and piece[keyword] == merged[keyword]
    return _has(piece, steps)


def _has(node: JSONObject, steps: tuple[str | int, ...]) -> bool:
    """Whether the steps exist in a schema."""
    held: JSONValue = node
    for step in steps:
        if isinstance(held, dict):
            held = held.get(str(step), _ABSENT)
        elif isinstance(held, list) and isinstance(step, int) and step < len(held):
            held = held[step]
        else:
            return False
    return held is not _ABSENT


def _pointer(origin: Origin, places: Mapping[int, str]) -> str:
    """The pointer to a location, or to the enclosing schema if the tool has no such location."""
    node, steps = origin
    pointer = places.get(id(node), "")
    if steps and _has(node, steps):
        for step in steps:
            pointer += f"/{escape(str(step))}"
    return pointer


def _places(root: JSONObject, wanted: set[int]) -> dict[int, str]:
    """The shortest pointer to each wanted object, by its identity."""
    found: dict[int, str] = {id(root): ""}
    missing = wanted - found.keys()
    level: list[tuple[JSONObject | list[JSONValue], str]] = [(root, "")]
    while missing and level:
        below: list[tuple[JSONObject | list[JSONValue], str]] = []
        for node, place in level:
            for step, child in node.items() if isinstance(node, dict) else enumerate(node):
                if child.__class__ in HOLDERS and id(child) not in found:
                    there = f"{place}/{escape(step) if isinstance(step, str) else step}"
                    found[id(child)] = there
                    missing.discard(id(child))
                    below.append((cast("JSONObject", child), there))
        level = below
    return found
