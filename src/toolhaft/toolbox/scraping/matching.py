"""Finds the elements that a selector asks for, in time that grows with page and selector alone.

The HTML library says which elements fit a compound; how they stand to each other is worked out here, since it
tries every road, takes minutes for four words on a deep page, and cannot be stopped. Does not know how a
selector is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

from toolhaft.toolbox.scraping.selectors import Among, Check, Combinator, Complex, Compound, Has, Nth

try:
    from selectolax.lexbor import LexborHTMLParser, LexborNode
except ImportError as error:
    raise ImportError("selectors need selectolax: pip install 'toolhaft[web]'") from error

Element: TypeAlias = LexborNode

_NONE: Final = -1


class Elements:
    """The elements of a page, by their numbers in its order.

    Sets of them are bytes, one an element: 1 where it is in the set.

    Args:
        body: in UTF-8, and bounded as `bounded` does.
    """

    __slots__ = ("_found", "_nodes", "_numbers", "_page", "_parents", "_siblings")

    def __init__(self, body: bytes) -> None:
        self._page = LexborHTMLParser(body)
        root = self._page.root
        nodes = () if root is None else root.traverse()
        self._nodes: list[Element] = [node for node in nodes if node.is_element_node]
        self._numbers = {node.mem_id: number for number, node in enumerate(self._nodes)}
        self._parents, self._siblings = self._relations()
        self._found: dict[str, bytes] = {}

    def _relations(self) -> tuple[list[int], list[int]]:
        """The number of each element's parent, and of the sibling before it."""
        parents: list[int] = []
        siblings: list[int] = []
        last_child: dict[int, int] = {}
        for number, node in enumerate(self._nodes):
            parent = node.parent
            above = _NONE if parent is None else self._numbers.get(parent.mem_id, _NONE)
            parents.append(above)
            siblings.append(last_child.get(above, _NONE))
            last_child[above] = number
        return parents, siblings

    def __len__(self) -> int:
        return len(self._nodes)

    def find(self, selectors: Iterable[Complex]) -> list[Element]:
        """The elements that one of the selectors matches, in the order of the page, none inside another."""
        found = self._any(selectors)
        inside = self._reached(" ", found)
        return [
            node for node, is_found, is_in in zip(self._nodes, found, inside, strict=True) if is_found > is_in
        ]

    def count(self, compound: Compound) -> int:
        """How many elements a compound fits."""
        return sum(self._fitting(compound))

    def _any(self, selectors: Iterable[Complex]) -> bytes:
        found = bytes(len(self))
        for selector in selectors:
            found = _either(found, self._matched(selector))
        return found

    def _matched(self, selector: Complex) -> bytes:
        (_, first), *others = selector.steps
        found = self._fitting(first)
        for way, compound in others:
            found = _both(self._reached(way, found), self._fitting(compound))
        return found

    def _fitting(self, compound: Compound) -> bytes:
        found = self._simple(compound.simple)
        for check in compound.checks:
            found = _both(found, self._checked(check))
        return found

    def _simple(self, simple: str) -> bytes:
        """What the library finds; each is asked for once."""
        if simple not in self._found:
            flags = bytearray(len(self))
            for node in self._page.css(simple or "*"):
                flags[self._numbers[node.mem_id]] = 1
            self._found[simple] = bytes(flags)
        return self._found[simple]

    def _checked(self, check: Check) -> bytes:
        match check:
            case Among():
                found = self._any(check.selectors)
                return _neither(found) if check.is_negated else found
            case Has():
                found = bytes(len(self))
                for selector in check.selectors:
                    found = _either(found, self._anchors(selector))
                return found
            case Nth():
                return self._placed(check)
            case _:
                assert_never(check)

    def _anchors(self, selector: Complex) -> bytes:
        """The elements from which what a selector asks for is reached, found from its end."""
        reaching: bytes | None = None
        for way, compound in reversed(selector.steps):
            fitting = self._fitting(compound)
            reaching = self._reaching(way, fitting if reaching is None else _both(fitting, reaching))
        return reaching or b""

    def _reached(self, way: Combinator, start: bytes) -> bytes:
        """The elements that are reached from those of a set."""
        nearer = self._parents if way in (" ", ">") else self._siblings
        goes_on = way in (" ", "~")
        found = bytearray(len(self))
        for number, near in enumerate(nearer):  # what is nearer has a lower number, so it is settled already
            if near >= 0 and (start[near] or (goes_on and found[near])):
                found[number] = 1
        return bytes(found)

    def _reaching(self, way: Combinator, end: bytes) -> bytes:
        """The elements from which those of a set are reached."""
        nearer = self._parents if way in (" ", ">") else self._siblings
        goes_on = way in (" ", "~")
        found = bytearray(len(self))
        for number in range(len(self) - 1, -1, -1):
            if (end[number] or (goes_on and found[number])) and nearer[number] >= 0:
                found[nearer[number]] = 1
        return bytes(found)

    def _placed(self, nth: Nth) -> bytes:
        counted = self._any(nth.among) if nth.among else bytes((1,)) * len(self)
        places: Counter[object] = Counter()
        found = bytearray(len(self))
        numbers = range(len(self))
        for number in reversed(numbers) if nth.is_from_end else numbers:
            if counted[number]:
                parent = self._parents[number]
                kin = (parent, self._nodes[number].tag) if nth.is_of_type else parent
                places[kin] += 1
                found[number] = _is_at(places[kin], nth)
        return bytes(found)


def _is_at(place: int, nth: Nth) -> bool:
    beyond = place - nth.offset
    if not nth.step:
        return not beyond
    return not beyond % nth.step and beyond // nth.step >= 0


def _both(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


def _either(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) | int.from_bytes(other)).to_bytes(len(one))


def _neither(one: bytes) -> bytes:
    return one.translate(_FLIPPED)


_FLIPPED: Final = bytes.maketrans(b"\0\1", b"\1\0")
