"""What every step of lowering one schema shares: the rules, the losses, the budget, the places.

Does not know how any keyword is lowered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from functools import cached_property
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from toolhaft.formats.losses import Done
from toolhaft.formats.subset.choice import Documents
from toolhaft.formats.subset.keywords import HOLDERS
from toolhaft.formats.subset.rules import MOST_NODES, Rules
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import RefusedSchema, SchemaLoss, escape
from toolhaft.formats.subset.turns import Turn
from toolhaft.schema.expected import known_names
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.raw_definition import is_open

_PATH: Final = itemgetter(0)
_NO_PLACE: Final[list[JSONValue]] = []


class Nothing(Enum):
    """Why no schema stands at a place."""

    NEVER = auto()
    """No value fits the tool's own schema here."""
    CUT = auto()
    """A recursive schema ends here, which is told."""


class Low(NamedTuple):
    """A lowered schema, and the way of its values."""

    schema: JSONObject
    turn: Turn | None


Lowering: TypeAlias = Low | Nothing
Origin: TypeAlias = tuple[JSONObject, tuple[str | int, ...]]
"""A place in the tool's own schema: a schema of it, and the steps from there."""
Said: TypeAlias = tuple[Origin, str, Done, str]
"""One loss before its place is looked up: where, the keyword, what was done, and a detail."""
Position = Literal["root", "branch", "inside"]
"""Where an object stands: the arguments themselves, one of several shapes of them, or inside them."""


class Frame:
    """What was told in one part of the schema, so that a part that is given up takes its losses with it."""

    __slots__ = ("is_exact", "said")

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.is_exact = True


class Walk(ABC):
    """One schema on its way into one subset."""

    def __init__(self, root: JSONObject, rules: Rules, *, is_closed: bool) -> None:
        self.root = root
        self.is_closed = is_closed
        """Whether objects inside that say nothing of other keys are known to refuse them."""
        self.rules = rules
        self.subset: Subset = rules.subset
        self.frame = Frame()
        self.documents = Documents(root)
        self._nodes = 0
        self._blamed: Origin | None = None
        self._rootlike: dict[int, JSONObject] = {}
        self._pieces_by_merge: dict[int, list[JSONObject]] = {}
        self._own: dict[int, tuple[JSONObject, Origin]] = {}

    @cached_property
    def is_root_open(self) -> bool:
        """Whether the tool itself says what arguments it takes beside those that it lists."""
        return is_open(self.root)

    @cached_property
    def root_names(self) -> frozenset[str]:
        """The arguments that the tool lists, wherever it does."""
        return frozenset(known_names(self.root, self.root))

    @abstractmethod
    def visit(self, schema: JSONValue) -> Lowering:
        """A schema lowered, with all inside it."""

    @abstractmethod
    def merged(self, node: JSONObject) -> JSONObject | None:
        """A schema with its references and allOf merged into one; None where nothing can fit it."""

    @abstractmethod
    def lower_at(self, node: JSONObject, position: Position) -> Lowering:
        """A schema lowered for where it stands."""

    @abstractmethod
    def wire(self) -> JSONObject:
        """The wire's definitions so far, for references to lead into."""

    @abstractmethod
    def alone(self, schema: JSONObject) -> JSONObject | None:
        """A schema with what its references lead to written in; None where it would be too large."""

    def is_rootlike(self, node: JSONObject) -> bool:
        """Whether a schema is one of several for the arguments themselves."""
        return id(node) in self._rootlike

    def mark_rootlike(self, node: JSONObject) -> None:
        """Marks a schema as one of several for the arguments themselves."""
        self._rootlike[id(node)] = node

    def visit_at(self, node: JSONObject, schema: JSONValue, *steps: str | int) -> Lowering:
        """A schema inside another, lowered; the steps lead to it."""
        if isinstance(schema, dict):
            return self.visit(schema)
        if schema is False:
            return Nothing.NEVER
        return self.visit(self.own({}, node, *steps))

    def attempt(self, schema: JSONValue) -> JSONObject | None:
        """A schema lowered without any change of what it takes, or None; then nothing is told of it."""
        outer, self.frame = self.frame, Frame()
        low = self.visit_at(self.root, schema)
        tried, self.frame = self.frame, outer
        if isinstance(low, Nothing) or low.turn is not None or not tried.is_exact:
            return None
        outer.said += tried.said
        return low.schema

    def tell(self, node: JSONObject, keyword: str, done: Done, detail: str = "", *steps: str | int) -> None:
        """Records a loss at a schema."""
        self.frame.said.append(((node, steps), keyword, done, detail))
        if done != "left out":
            self.frame.is_exact = False

    def refusal(self, node: JSONObject, reason: str, *steps: str | int) -> RefusedSchema:
        """That the target has no form for a schema."""
        return RefusedSchema(self.place(node, *steps), reason)

    def blame(self, node: JSONObject, *steps: str | int) -> None:
        """Notes where it was found first that nothing can fit."""
        self._blamed = self._blamed or (node, steps)

    def impossible(self) -> RefusedSchema:
        """That nothing can fit the whole schema."""
        node, steps = self._blamed or (self.root, ())
        return RefusedSchema(self.place(node, *steps), "nothing can fit it")

    def spend(self, nodes: int = 1) -> None:
        """Counts schemas towards the budget.

        Raises:
            RefusedSchema: when it is spent.
        """
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            raise RefusedSchema("", f"too large: written out it has more than {MOST_NODES} schemas")

    def own(self, made: JSONObject, node: JSONObject, *steps: str | int) -> JSONObject:
        """A schema made on the way, which from now on stands for a place in the tool's own."""
        self._own[id(made)] = (made, (node, steps))
        self.spend()
        return made

    def place(self, node: JSONObject, *steps: str | int) -> str:
        """The pointer to a place in the tool's own schema."""
        origin = self._origin((node, steps))
        return _pointer(origin, _places(self.root, {id(origin[0])}))

    def losses(self, frames: Iterable[Frame]) -> tuple[SchemaLoss, ...]:
        """All that was told in these parts, each thing once, in the order of their places."""
        said = [(self._origin(each[0], each[1]), *each[1:]) for frame in frames for each in frame.said]
        if not said:
            return ()
        places = _places(self.root, {id(origin[0]) for origin, *_ in said})
        told = dict.fromkeys(
            SchemaLoss(_pointer(origin, places), key, done, detail) for origin, key, done, detail in said
        )
        return tuple(sorted(told, key=_PATH))

    def merged_from(self, made: JSONObject, pieces: list[JSONObject]) -> None:
        """Notes which schemas another was merged from, so that each loss is told of the right one."""
        self._pieces_by_merge[id(made)] = pieces

    def _origin(self, origin: Origin, keyword: str = "") -> Origin:
        """The same place, from a schema that the tool itself has."""
        node, steps = origin
        while id(node) in self._own:
            pieces = self._pieces_by_merge.get(id(node), ())
            piece = next((piece for piece in pieces if _says(piece, node, keyword, steps)), None)
            if piece is not None:
                node = piece
                continue
            node, before = self._own[id(node)][1]
            steps = (*before, *steps)
        return node, steps


def _says(piece: JSONObject, merged: JSONObject, keyword: str, steps: tuple[str | int, ...]) -> bool:
    """Whether a keyword of a merged schema, or what the steps lead to, is from this piece."""
    if not steps:
        return keyword in piece and keyword in merged and piece[keyword] == merged[keyword]
    return _has(piece, steps)


def _has(node: JSONObject, steps: tuple[str | int, ...]) -> bool:
    """Whether the steps lead somewhere from a schema."""
    held: JSONValue = node
    for step in steps:
        if isinstance(held, dict):
            held = held.get(str(step), _NO_PLACE)
        elif isinstance(held, list) and isinstance(step, int) and step < len(held):
            held = held[step]
        else:
            return False
    return held is not _NO_PLACE


def _pointer(origin: Origin, places: Mapping[int, str]) -> str:
    """The pointer to a place; to the schema that holds it where the tool has no such place."""
    node, steps = origin
    pointer = places.get(id(node), "")
    if steps and _has(node, steps):
        for step in steps:
            pointer += f"/{escape(str(step))}"
    return pointer


def _places(root: JSONObject, wanted: set[int]) -> dict[int, str]:
    """By the identity of each wanted object, the pointer to it, or the shortest of several."""
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
