"""Walks one schema into one subset: what stands is kept, references are followed, the rest goes to its step.

Does not know how any keyword is lowered.
"""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.subset.annotations import noted
from toolhaft.formats.subset.cycles import recursive_targets
from toolhaft.formats.subset.definitions import Definition, Definitions
from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, SILENT, UNEVALUATED, UNIONS, VALIDATION
from toolhaft.formats.subset.merging import merge, settled
from toolhaft.formats.subset.plain import lower_plain
from toolhaft.formats.subset.references import definition_name, reference_of
from toolhaft.formats.subset.rules import UNROLLED, Rules, rules_of
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.target import Subset
from toolhaft.formats.subset.told import RefusedSchema
from toolhaft.formats.subset.unions import lower_in_place, lower_shapes
from toolhaft.formats.subset.walk import Low, Lowering, Nothing, Position, Walk
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

_DEEPEST: Final = 40
_ALONE: Final = Subset(refs="inline")


class Walker(Walk):
    """One schema on its way, with its definitions."""

    def __init__(self, root: JSONObject, rules: Rules, *, is_closed: bool = False) -> None:
        super().__init__(root, rules, is_closed=is_closed)
        self.definitions = Definitions(root)
        self._scanner = scanner_of(rules)
        self._tally = Tally()
        self._stack: list[int] = [id(root)]
        self._pieces: dict[int, tuple[JSONObject, list[JSONObject] | None]] = {}
        self._merges: dict[tuple[int, ...], JSONObject | None] = {}
        self._recursive: frozenset[int] | None = None

    def visit(self, schema: JSONValue) -> Lowering:
        """A schema lowered, with all inside it; itself if it stands."""
        if not isinstance(schema, dict):
            return Nothing.NEVER if schema is False else self.visit(self.own({}, self.root))
        size = self._scanner.size_if_clean(schema, self._tally)
        if size:
            self.spend(size)
            return Low(schema, None)
        return self.lower_at(schema, "branch" if self.is_rootlike(schema) else "inside")

    def lower_at(self, node: JSONObject, position: Position) -> Lowering:
        """A schema lowered for where it stands."""
        if "not" in node and (node["not"] is True or node["not"] == {}):
            self.blame(node)
            return Nothing.NEVER
        if node.keys().isdisjoint(COMPOSED):
            return lower_plain(self, node, position)
        reference = reference_of(node)
        if reference is not None:
            return self._reference(node, reference)
        if "allOf" in node and self.rules.merges:
            return self._enter_merged(node)
        if self.rules.reshapes:
            return lower_shapes(self, node)
        return self._lower_beside(node, position)

    def _lower_beside(self, node: JSONObject, position: Position) -> Lowering:
        """A schema with unions or allOf, each in its place beside the rest."""
        apart = {"allOf", *UNIONS, *(key for key in UNEVALUATED if not self.rules.takes(key))}
        rest = self.own({key: value for key, value in node.items() if key not in apart}, node)
        base = lower_plain(self, rest, position)
        if isinstance(base, Nothing):
            return base
        for key in node.keys() & apart & UNEVALUATED:
            self.tell(node, key, "checked locally")
        return lower_in_place(self, node, base)

    # references

    def _reference(self, node: JSONObject, reference: str) -> Lowering:
        target = resolve(self.root, reference)
        if target is None:
            raise self.refusal(node, f"a reference leads nowhere: {reference}")
        beside: JSONObject = {k: v for k, v in node.items() if k not in REFERENCES and k not in SILENT}
        if not isinstance(target, dict):
            return Nothing.NEVER if target is False else self.visit(self.own(beside, node))
        if beside.keys() & VALIDATION:
            if self.rules.merges or not self.subset.ref_siblings or self.subset.refs == "inline":
                return self._enter_merged(node)
            base = lower_plain(self, self.own(beside, node), "inside")
            low = self._to(target, reference)
            if isinstance(base, Nothing) or isinstance(low, Nothing):
                return low if isinstance(low, Nothing) else base
            return Low({**base.schema, **low.schema}, None)
        if not beside:
            return self._to(target, reference)
        return self._noted(self.own(beside, node), target, reference)

    def _noted(self, beside: JSONObject, target: JSONObject, reference: str) -> Lowering:
        """A reference with annotations beside it; where they may not stand there, its target does."""
        low = self._to(target, reference)
        if isinstance(low, Nothing):
            return low
        if "$ref" in low.schema and not self.subset.ref_siblings and not self._is_recursive(target):
            inlined = self._inline(target)
            low = inlined if isinstance(inlined, Low) else low
        return noted(self, beside, low, [])

    def _to(self, target: JSONObject, reference: str) -> Lowering:
        """What stands for a reference to a schema."""
        subset = self.subset
        if subset.recursion != "keep" and self._is_recursive(target):
            return self._inline(target)
        if subset.refs == "keep" or (subset.recursion == "keep" and self._is_recursive(target)):
            return self._define(target, reference)
        return self._inline(target)

    def _inline(self, target: JSONObject) -> Lowering:
        """A schema in the place of a reference to it, or of a merge; it may lead back to itself."""
        met = self._stack.count(id(target))
        if met and self.subset.recursion == "keep":
            return self._define(target, "")
        if met and self.subset.recursion == "refuse":
            raise self.refusal(target, "it refers to itself, which cannot be sent")
        if met >= UNROLLED:
            self.tell(target, "$ref", "narrowed", f"it refers to itself: {UNROLLED} levels are written out")
            return Nothing.CUT
        self._stack.append(id(target))
        try:
            return self.visit(target)
        finally:
            self._stack.pop()

    def _is_recursive(self, target: JSONObject) -> bool:
        if self._recursive is None:
            self._recursive = recursive_targets(self.root)
        return id(target) in self._recursive

    def _define(self, target: JSONObject, reference: str) -> Lowering:
        """A reference to a definition, which is lowered once."""
        found = self.definitions.get(target)
        if found is None:
            name = definition_name(reference) or self.place(target).rsplit("/", 1)[-1]
            found = self.definitions.add(target, name or "root")
            if len(self._stack) < _DEEPEST:
                self._finish(found)
            else:
                self.definitions.waiting.append(found)
        if found.nothing is not None:
            return found.nothing
        self.frame.is_exact = self.frame.is_exact and found.is_done and found.frame.is_exact
        is_turned = self.rules.turns and not (found.is_done and found.later.turn is None)
        found.is_used_early = found.is_used_early or not found.is_done
        return Low({"$ref": found.pointer}, found.later if is_turned else None)

    def _finish(self, definition: Definition) -> None:
        outer, self.frame = self.frame, definition.frame
        self._stack.append(id(definition.target))
        low = self.visit(definition.target)
        self._stack.pop()
        self.frame = outer
        definition.is_done = True
        if isinstance(low, Low):
            definition.schema, definition.later.turn = low.schema, low.turn
        elif definition.is_used_early:
            raise self.refusal(definition.target, "nothing can fit it")
        else:
            definition.nothing = low

    def finish_definitions(self) -> None:
        """Lowers the definitions that were put off, so that a long chain of them is not a deep one."""
        while self.definitions.waiting:
            waiting = self.definitions.waiting.pop()
            waiting.is_used_early = True
            self._finish(waiting)

    def wire(self) -> JSONObject:
        """The wire's definitions so far, for references to lead into."""
        return self.definitions.document()

    def alone(self, schema: JSONObject) -> JSONObject | None:
        """A schema with what its references lead to written in; circles stay, with their definitions."""
        walk = Walker(self.root, rules_of(_ALONE))
        try:
            low = walk.visit(schema)
            walk.finish_definitions()
        except (RefusedSchema, RecursionError):
            return None
        whole = low.schema if isinstance(low, Low) else schema
        used = walk.definitions.used_by(whole)
        return {**whole, "$defs": {each.name: each.schema for each in used}} if used else whole

    # merging

    def _enter_merged(self, node: JSONObject) -> Lowering:
        merged = self.merged(node)
        if merged is None:
            self.blame(node)
            return Nothing.NEVER
        if self.is_rootlike(node):
            self.mark_rootlike(merged)
        return self._inline(merged)

    def merged(self, node: JSONObject) -> JSONObject | None:
        """A schema with its references and allOf merged into one; the same one for the same pieces."""
        pieces = self._pieces_of(node)
        if pieces is None:
            return None
        if not pieces:
            return self.own({}, node)
        key = tuple(dict.fromkeys(id(piece) for piece in pieces))
        if key not in self._merges:
            self._merges[key] = merge(self, list({id(piece): piece for piece in pieces}.values()), node)
        return self._merges[key]

    def _pieces_of(self, node: JSONObject) -> list[JSONObject] | None:
        """The schemas that must all hold where one stands, without references and allOf; None for nothing."""
        known = self._pieces.get(id(node))
        if known is None:
            known = (node, self._take_apart(node))
            self._pieces[id(node)] = known
        return known[1]

    def _take_apart(self, node: JSONObject) -> list[JSONObject] | None:
        self.spend()
        reference = reference_of(node)
        if reference is None and "allOf" not in node:
            plain = {key: value for key, value in node.items() if key not in SILENT}
            whole = node if len(plain) == len(node) else self.own(plain, node)
            return [settled(self, whole)] if plain else []
        own: JSONObject = {
            k: v for k, v in node.items() if k not in REFERENCES and k not in SILENT and k != "allOf"
        }
        last = {key: own.pop(key) for key in UNEVALUATED if key in own}
        pieces = [self.own(own, node)] if own else []
        parts: list[JSONValue] = [] if reference is None else [resolve(self.root, reference)]
        parts += cast("list[JSONValue]", node.get("allOf", []))
        for part in parts:
            found = self._pieces_of(part) if isinstance(part, dict) else None if part is False else []
            if found is None:
                return None
            pieces += found
        if not last:
            return pieces
        whole = merge(self, pieces, node) if pieces else {}
        return None if whole is None else [settled(self, self.own({**whole, **last}, node))]
