"""Finds the schemas that references lead back to from inside themselves.

Does not know what becomes of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolhaft.formats.subset.references import inside, reference_of
from toolhaft.schema.json_schema import resolve, subschemas
from toolhaft.schema.json_value import JSONObject


class _Search:
    """One search in depth, after Tarjan: schemas that reach each other leave the path together."""

    def __init__(self, edges: dict[int, list[int]]) -> None:
        self.edges = edges
        self.index: dict[int, int] = {}
        self.lowest: dict[int, int] = {}
        self.path: dict[int, None] = {}
        self.found: set[int] = set()

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
        if len(members) > 1 or node in self.edges[node]:
            self.found.update(members)


def recursive_targets(root: JSONObject) -> frozenset[int]:
    """The identities of all schemas that are referred to and lie on a circle of references."""
    search = _Search(_edges(root))
    for node in search.edges:
        if node not in search.index:
            search.run(node)
    return frozenset(search.found)


def _edges(root: JSONObject) -> dict[int, list[int]]:
    """By each schema that is referred to, those that are referred to, or written, inside it."""
    targets: dict[int, JSONObject] = {id(root): root}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        reference = reference_of(node)
        led = None if reference is None else resolve(root, reference)
        if isinstance(led, dict):
            targets[id(led)] = led
        waiting.extend(child for _, child in subschemas(node))
    edges: dict[int, list[int]] = {}
    for target in targets.values():
        found: dict[int, None] = {}
        for part in inside(target):
            if part is not target and id(part) in targets:
                found[id(part)] = None
            reference = reference_of(part)
            led = None if reference is None else resolve(root, reference)
            if isinstance(led, dict):
                found[id(led)] = None
        edges[id(target)] = list(found)
    return edges
