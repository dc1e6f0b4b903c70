"""The references and definitions of a schema: names, targets, and which of them are recursive."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from toolhaft.formats.subset.argument_maps import DeferredMap
from toolhaft.formats.subset.keywords import REFERENCES
from toolhaft.formats.subset.walk import Frame, Nothing
from toolhaft.schema.json_schema import all_schemas, resolve, subschemas
from toolhaft.schema.json_value import JSONObject

_OWN: Final = ("#/$defs/", "#/definitions/")


def reference_of(node: JSONObject) -> str | None:
    """The reference of a schema, in any draft."""
    for key in REFERENCES:
        value = node.get(key)
        if isinstance(value, str):
            return value
    return None


def _target_of(root: JSONObject, node: JSONObject) -> JSONObject | None:
    reference = reference_of(node)
    target = None if reference is None else resolve(root, reference)
    return target if isinstance(target, dict) else None


def with_nested(node: JSONObject) -> Iterator[JSONObject]:
    """A schema and all schemas inside it, without its definitions."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(child for key, child in subschemas(part) if key not in ("$defs", "definitions"))


def definition_name(reference: str | None) -> str:
    """The name of the definition that a reference leads to; '' if it leads elsewhere."""
    for start in _OWN:
        if reference is not None and reference.startswith(start):
            name = unquote(reference.removeprefix(start))
            return "" if "/" in name else name.replace("~1", "/").replace("~0", "~")
    return ""


def referenced_names(schema: JSONObject) -> Iterator[str]:
    """The names of all definitions that a lowered schema refers to."""
    for part in with_nested(schema):
        reference = part.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix("#/$defs/")


class _Search:
    """Tarjan's search for strongly connected components."""

    def __init__(self, edges: dict[int, list[int]]) -> None:
        self.edges = edges
        self.index: dict[int, int] = {}
        self.lowest: dict[int, int] = {}
        self.path: dict[int, None] = {}
        self.found: set[int] = set()
        self.component: dict[int, int] = {}
        """By node, one node of its component."""

    def start(self, node: int) -> tuple[int, Iterator[int]]:
        self.index[node] = self.lowest[node] = len(self.index)
        self.path[node] = None
        return node, iter(self.edges[node])

    def run(self, node: int) -> None:
        work = [self.start(node)]
        while work:
            here, others = work[-1]
            other = next(others, None)
            if other is None:
                self.finish(here)
                work.pop()
                if work:
                    above = work[-1][0]
                    self.lowest[above] = min(self.lowest[above], self.lowest[here])
            elif other not in self.index:
                work.append(self.start(other))
            elif other in self.path:
                self.lowest[here] = min(self.lowest[here], self.index[other])

    def finish(self, node: int) -> None:
        if self.lowest[node] != self.index[node]:
            return
        members: list[int] = []
        while node in self.path:
            members.append(self.path.popitem()[0])
        self.component.update(dict.fromkeys(members, node))
        if len(members) > 1 or node in self.edges[node]:
            self.found.update(members)


def _searched(edges: dict[int, list[int]]) -> _Search:
    search = _Search(edges)
    for node in edges:
        if node not in search.index:
            search.run(node)
    return search


def components(edges: dict[int, list[int]]) -> dict[int, int]:
    """By node, one node of its strongly connected component: the same for all that lead to each other."""
    return _searched(edges).component


def recursive_targets(root: JSONObject) -> frozenset[int]:
    """The identities of all reference targets that are part of a cycle."""
    return frozenset(_searched(_edges(root)).found)


def _edges(root: JSONObject) -> dict[int, list[int]]:
    """For each reference target, the targets that it refers to or contains."""
    targets: dict[int, JSONObject] = {id(root): root}
    for node in all_schemas(root):
        target = _target_of(root, node)
        if target is not None:
            targets[id(target)] = target
    edges: dict[int, list[int]] = {}
    for target in targets.values():
        found: dict[int, None] = {}
        for part in with_nested(target):
            if part is not target and id(part) in targets:
                found[id(part)] = None
            other = _target_of(root, part)
            if other is not None:
                found[id(other)] = None
        edges[id(target)] = list(found)
    return edges


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]")


class SchemaDefinition:
    """One definition of the lowered schema."""

    __slots__ = ("deferred_map", "frame", "is_done", "is_used_early", "name", "nothing", "schema", "target")

    def __init__(self, target: JSONObject, name: str) -> None:
        self.target = target
        self.name = name
        self.frame = Frame()
        self.deferred_map = DeferredMap()
        self.schema: JSONObject = {}
        self.nothing: Nothing | None = None
        self.is_done = False
        self.is_used_early = False
        """Whether something referred to it before it was finished."""

    @property
    def pointer(self) -> str:
        """The reference to it."""
        return f"#/$defs/{self.name}"


class SchemaDefinitions:
    """The definitions of one lowered schema."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._by_target: dict[int, SchemaDefinition] = {}
        self._by_name: dict[str, SchemaDefinition] = {}
        self.waiting: list[SchemaDefinition] = []

    def get(self, target: JSONObject) -> SchemaDefinition | None:
        """The definition of a schema, if it has one."""
        return self._by_target.get(id(target))

    def add(self, target: JSONObject, wanted: str) -> SchemaDefinition:
        """A new definition for a schema, with a unique name close to the wanted one."""
        safe = name = _UNSAFE.sub("_", wanted) or "definition"
        number = 1
        while name in self._by_name:
            number += 1
            name = f"{safe}_{number}"
        found = SchemaDefinition(target, name)
        self._by_target[id(target)] = self._by_name[name] = found
        return found

    def document(self) -> JSONObject:
        """The finished definitions, as a document to resolve references in."""
        return {"$defs": {name: each.schema for name, each in self._by_name.items() if each.is_done}}

    def used_by(self, schema: JSONObject) -> list[SchemaDefinition]:
        """The definitions that a schema refers to, directly or not, in the order of the root."""
        if not self._by_name:
            return []
        found: dict[str, SchemaDefinition] = {}
        waiting = [schema]
        while waiting:
            for name in referenced_names(waiting.pop()):
                if name in self._by_name and name not in found:
                    found[name] = self._by_name[name]
                    waiting.append(found[name].schema)
        own = self._root.get("$defs", self._root.get("definitions"))
        order = list(own) if isinstance(own, dict) else []
        place = {name: index for index, name in enumerate(order)}
        return sorted(found.values(), key=lambda each: place.get(each.name, len(place)))
