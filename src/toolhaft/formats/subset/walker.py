"""Walks a schema: keeps what the target accepts, follows references, lowers the rest."""

from __future__ import annotations

from typing import Final, cast

from toolhaft.formats.losses import RefusedSchema
from toolhaft.formats.subset.keywords import COMPOSED, REFERENCES, SILENT, UNEVALUATED, UNIONS, VALIDATION
from toolhaft.formats.subset.merging import merge, unevaluated_as_additional
from toolhaft.formats.subset.plain import lower_plain
from toolhaft.formats.subset.references import (
    SchemaDefinition,
    SchemaDefinitions,
    definition_name,
    recursive_targets,
    reference_of,
)
from toolhaft.formats.subset.scan import Tally, scanner_of
from toolhaft.formats.subset.target import UNROLLED, Subset, TargetRules
from toolhaft.formats.subset.to_description import annotated_reference
from toolhaft.formats.subset.unions import lower_in_place, lower_shapes
from toolhaft.formats.subset.walk import LoweredNode, LoweringResult, Nothing, Position, Walk
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.json_value import JSONObject, JSONValue

_DEEPEST: Final = 40
_ALONE: Final = Subset(refs="inline")


class Walker(Walk):
    """The lowering of one schema and its definitions."""

    def __init__(self, root: JSONObject, rules: TargetRules, *, is_closed: bool = False) -> None:
        super().__init__(root, rules, is_closed=is_closed)
        self.definitions = SchemaDefinitions(root)
        self._scanner = scanner_of(rules)
        self._tally = Tally()
        self._stack: list[int] = [id(root)]
        self._pieces: dict[int, tuple[JSONObject, list[JSONObject] | None]] = {}
        self._merges: dict[tuple[int, ...], JSONObject | None] = {}
        self._recursive: frozenset[int] | None = None

    def visit(self, schema: JSONValue) -> LoweringResult:
        """Lowers a schema with everything inside it; the same object if it can be kept."""
        if not isinstance(schema, dict):
            return Nothing.NEVER if schema is False else self.visit(self.derive({}, self.root))
        size = self._scanner.size_if_clean(schema, self._tally)
        if size:
            self.count_nodes(size)
            return LoweredNode(schema, None)
        return self.lower_at(schema, "branch" if self.is_root_branch(schema) else "inside")

    def lower_at(self, node: JSONObject, position: Position) -> LoweringResult:
        """Lowers a schema at a position."""
        if "not" in node and (node["not"] is True or node["not"] == {}):
            self.mark_impossible(node)
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
        return self._lower_in_place(node, position)

    def _lower_in_place(self, node: JSONObject, position: Position) -> LoweringResult:
        """Lowers a schema with unions or allOf in place, next to its other keywords."""
        apart = {"allOf", *UNIONS, *(key for key in UNEVALUATED if not self.rules.takes(key))}
        rest = self.derive({key: value for key, value in node.items() if key not in apart}, node)
        base = lower_plain(self, rest, position)
        if isinstance(base, Nothing):
            return base
        for key in node.keys() & apart & UNEVALUATED:
            self.report(node, key, "checked locally")
        return lower_in_place(self, node, base)

    # references

    def _reference(self, node: JSONObject, reference: str) -> LoweringResult:
        target = resolve(self.root, reference)
        if target is None:
            raise self.refusal(node, f"a reference cannot be resolved: {reference}")
        siblings: JSONObject = {k: v for k, v in node.items() if k not in REFERENCES and k not in SILENT}
        if not isinstance(target, dict):
            return Nothing.NEVER if target is False else self.visit(self.derive(siblings, node))
        if siblings.keys() & VALIDATION:
            if self.rules.merges or not self.subset.ref_siblings or self.subset.refs == "inline":
                return self._enter_merged(node)
            base = lower_plain(self, self.derive(siblings, node), "inside")
            low = self._lower_reference_to(target, reference)
            if isinstance(base, Nothing) or isinstance(low, Nothing):
                return low if isinstance(low, Nothing) else base
            return LoweredNode({**base.schema, **low.schema}, None)
        if not siblings:
            return self._lower_reference_to(target, reference)
        return self._annotated(self.derive(siblings, node), target, reference)

    def _annotated(self, siblings: JSONObject, target: JSONObject, reference: str) -> LoweringResult:
        """Lowers a reference with annotations; inlines it if the target accepts no siblings."""
        low = self._lower_reference_to(target, reference)
        if isinstance(low, Nothing):
            return low
        if "$ref" in low.schema and not self.subset.ref_siblings and not self._is_recursive(target):
            inlined = self._inline(target)
            low = inlined if isinstance(inlined, LoweredNode) else low
        return annotated_reference(self, siblings, low, [])

    def _lower_reference_to(self, target: JSONObject, reference: str) -> LoweringResult:
        """Lowers a reference to a schema: kept or inlined."""
        subset = self.subset
        if subset.recursion != "keep" and self._is_recursive(target):
            return self._inline(target)
        if subset.refs == "keep":
            return self._define(target, reference)
        if subset.recursion == "keep" and self._is_recursive(target):
            low = self._define(target, reference)
            if not self._has_ended_recursion(target):
                return low
        return self._inline(target)

    def _has_ended_recursion(self, target: JSONObject) -> bool:
        """Whether a recursive schema is not recursive when lowered: its self-reference was merged away."""
        found = self.definitions.get(target)
        if found is None or not found.is_done or found.is_used_early:
            return False
        return all(used.is_done and used is not found for used in self.definitions.used_by(found.schema))

    def _inline(self, target: JSONObject) -> LoweringResult:
        """Lowers a schema in place of a reference to it, or of a merge; it may be recursive."""
        met = self._stack.count(id(target))
        if met and self.subset.recursion == "keep":
            return self._define(target, "")
        if met and self.subset.recursion == "refuse":
            raise self.refusal(target, "it refers to itself, which cannot be sent")
        if met >= UNROLLED:
            self.report(target, "$ref", "narrowed", f"it refers to itself: {UNROLLED} levels are written out")
            return Nothing.TRUNCATED
        self._stack.append(id(target))
        try:
            return self.visit(target)
        finally:
            self._stack.pop()

    def _is_recursive(self, target: JSONObject) -> bool:
        if self._recursive is None:
            self._recursive = recursive_targets(self.root)
        return id(target) in self._recursive

    def _define(self, target: JSONObject, reference: str) -> LoweringResult:
        """A reference to a definition, which is lowered only once."""
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
        is_mapped = self.rules.maps_arguments and not (found.is_done and found.deferred_map.mapping is None)
        found.is_used_early = found.is_used_early or not found.is_done
        return LoweredNode({"$ref": found.pointer}, found.deferred_map if is_mapped else None)

    def _finish(self, definition: SchemaDefinition) -> None:
        outer, self.frame = self.frame, definition.frame
        self._stack.append(id(definition.target))
        low = self.visit(definition.target)
        self._stack.pop()
        self.frame = outer
        definition.is_done = True
        if isinstance(low, LoweredNode):
            definition.schema, definition.deferred_map.mapping = low.schema, low.mapping
        elif definition.is_used_early:
            raise self.refusal(definition.target, "no value is valid for it")
        else:
            definition.nothing = low

    def finish_definitions(self) -> None:
        """Lowers the postponed definitions: a long chain must not become a deep recursion."""
        while self.definitions.waiting:
            waiting = self.definitions.waiting.pop()
            waiting.is_used_early = True
            self._finish(waiting)

    def lowered_definitions(self) -> JSONObject:
        """The lowered definitions so far, as a document to resolve references in."""
        return self.definitions.document()

    def inlined(self, schema: JSONObject) -> JSONObject | None:
        """A schema with its references inlined; recursive ones stay, with their definitions."""
        walk = Walker(self.root, _ALONE.rules)
        try:
            low = walk.visit(schema)
            walk.finish_definitions()
        except (RefusedSchema, RecursionError):
            return None
        whole = low.schema if isinstance(low, LoweredNode) else schema
        used = walk.definitions.used_by(whole)
        return {**whole, "$defs": {each.name: each.schema for each in used}} if used else whole

    # merging

    def _enter_merged(self, node: JSONObject) -> LoweringResult:
        merged = self.merged(node)
        if merged is None:
            self.mark_impossible(node)
            return Nothing.NEVER
        if self.is_root_branch(node):
            self.mark_root_branch(merged)
        return self._inline(merged)

    def merged(self, node: JSONObject) -> JSONObject | None:
        """A schema with its references and allOf merged; cached by its pieces."""
        pieces = self._pieces_of(node)
        if pieces is None:
            return None
        if not pieces:
            return self.derive({}, node)
        key = tuple(dict.fromkeys(id(piece) for piece in pieces))
        if key not in self._merges:
            self._merges[key] = merge(self, list({id(piece): piece for piece in pieces}.values()), node)
        return self._merges[key]

    def _pieces_of(self, node: JSONObject) -> list[JSONObject] | None:
        """The schemas that a value must all match, without references and allOf; None if no value can."""
        known = self._pieces.get(id(node))
        if known is None:
            known = (node, self._split(node))
            self._pieces[id(node)] = known
        return known[1]

    def _split(self, node: JSONObject) -> list[JSONObject] | None:
        self.count_nodes()
        reference = reference_of(node)
        if reference is None and "allOf" not in node:
            plain = {key: value for key, value in node.items() if key not in SILENT}
            whole = node if len(plain) == len(node) else self.derive(plain, node)
            return [unevaluated_as_additional(self, whole)] if plain else []
        own: JSONObject = {
            k: v for k, v in node.items() if k not in REFERENCES and k not in SILENT and k != "allOf"
        }
        last = {key: own.pop(key) for key in UNEVALUATED if key in own}
        pieces = [self.derive(own, node)] if own else []
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
        return (
            None if whole is None else [unevaluated_as_additional(self, self.derive({**whole, **last}, node))]
        )
