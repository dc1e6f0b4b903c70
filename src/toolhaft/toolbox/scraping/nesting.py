"""Says which elements end where another starts or ends, so that all of a page can be closed in order.

The rules are those of the HTML standard, but that formatting which ends within a block goes on to the end of
it. Knows names only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

DEEPEST: Final = 256
"""Elements within elements; what would be nested deeper is put beside instead."""
MOST_FORMATS: Final = 12
"""Open elements of the kind that a parser opens again in each block that follows."""


def _names(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


_LATE: Final = "/"
"""After the name of formatting that ends with the block in it."""
_FORMATS: Final = _names("a b big code em font i nobr s small strike strong tt u")
_WALLS: Final = _names("applet caption marquee object table td template th")
"""Elements that most tags inside do not reach beyond."""
_ROWS: Final = _names("colgroup tbody tfoot thead tr")
_END_P: Final = _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure",
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p pre search section summary",
    "table ul",
)
_SPECIAL: Final = _WALLS | _ROWS | _END_P | _names("body button iframe noscript select textarea")
_P: Final = _names("p")
_BEYOND_P: Final = _WALLS | _names("button")
_HEADINGS: Final = _names("h1 h2 h3 h4 h5 h6")
_TABLE: Final = _names("table template")

# Which open elements the start of one ends, and beyond what it ends nothing.
_IN_PLACE_OF: Final = {
    **dict.fromkeys(("dd", "dt"), (_names("dd dt"), _SPECIAL - _names("address dd div dt p"))),
    **dict.fromkeys(("tbody", "tfoot", "thead"), (_names("tbody tfoot thead"), _TABLE)),
    **dict.fromkeys(("td", "th"), (_names("td th"), _TABLE | _ROWS)),
    "a": (_names("a", f"a{_LATE}"), _WALLS),
    "button": (_names("button"), _WALLS),
    "li": (_names("li"), _SPECIAL - _names("address div li p")),
    "option": (_names("option"), _WALLS | _names("select")),
    "tr": (_names("tr"), _TABLE),
}
MAY_LACK_END: Final = frozenset(_IN_PLACE_OF) - _names("a button") | _P
"""Elements that end where one of their kin starts, or what is around them ends."""
AROUND_OTHERS: Final = _SPECIAL - _P | _names("body html")
"""Elements that end all that is in them."""
_BEYOND_ROW_END: Final = {
    **dict.fromkeys(_ROWS | _names("caption td th"), _TABLE),
    "table": _names("template"),
}


class Nesting:
    """The open elements of a page."""

    __slots__ = ("_count", "_formats", "_open")

    def __init__(self) -> None:
        self._open: list[str] = []
        self._count: Counter[str] = Counter()
        self._formats = 0

    def is_in(self, names: Iterable[str]) -> bool:
        """True if an element of one of these names is open."""
        return any(self._count[name] for name in names)

    @property
    def is_empty(self) -> bool:
        """True if no element is open."""
        return not self._open

    def before(self, name: str) -> list[str]:
        """End what ends where an element starts; says which ones, innermost first."""
        ended: list[str] = []
        if name in _END_P and self._count["p"]:
            ended += self._end(self._find(_P, _BEYOND_P))
        if name in _IN_PLACE_OF:
            ended += self._end(self._find(*_IN_PLACE_OF[name]))
        if name in _HEADINGS and self._open and self._open[-1] in _HEADINGS:
            ended += self._end(len(self._open) - 1)
        if len(self._open) >= DEEPEST:
            ended += self._end(DEEPEST // 2)
        if name in _FORMATS and self._formats >= MOST_FORMATS:
            ended += self._end(next(at for at, one in enumerate(self._open) if _named(one) in _FORMATS))
        return ended

    def start(self, name: str) -> None:
        """Open an element."""
        self._open.append(name)
        self._count[name] += 1
        self._formats += name in _FORMATS

    def end(self, name: str) -> list[str]:
        """Close an element; says which ones end, innermost first: none where the end tag ends nothing."""
        if not self._count[name]:
            return []
        if self._open[-1] == name:
            return self._end(len(self._open) - 1)
        beyond = _BEYOND_ROW_END.get(name)
        if beyond is None:
            beyond = _WALLS if name in _SPECIAL or name in _FORMATS else _SPECIAL
        at = self._find(frozenset((name,)), beyond)
        if at is not None and name in _FORMATS and not _SPECIAL.isdisjoint(self._open[at:]):
            self._open[at] += _LATE
            self._count[name] -= 1
            return []
        return self._end(at)

    def _find(self, names: frozenset[str], beyond: frozenset[str]) -> int | None:
        """Where the innermost open element of these names is, if no other lies between."""
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in names:
                return at
            if self._open[at] in beyond:
                return None
        return None

    def _end(self, at: int | None) -> list[str]:
        if at is None:
            return []
        while at and self._open[at - 1].endswith(_LATE):
            at -= 1
        ended = self._open[at:]
        del self._open[at:]
        for name in ended:
            self._count[name] -= not name.endswith(_LATE)
            self._formats -= _named(name) in _FORMATS
        return [_named(name) for name in reversed(ended)]


def _named(one: str) -> str:
    return one.removesuffix(_LATE)
