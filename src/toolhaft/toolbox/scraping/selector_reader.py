"""Reads a CSS selector; every refusal names the position and what to write instead.

Knows no page.
"""

from __future__ import annotations

import re
from typing import Final, cast

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.outside import hidden_characters
from toolhaft.toolbox.scraping.selectors import Among, Check, Combinator, Complex, Compound, Has, Nth

LONGEST_SELECTOR: Final = 500
MOST_PARTS: Final = 50
"""Elements that it speaks of, and what it says of each."""
DEEPEST: Final = 5
"""Selectors within selectors."""

_ESCAPE: Final = r"\\(?:[0-9a-fA-F]{1,6}[ \t\n]?|[^\n0-9a-fA-F])"
_IDENT: Final = rf"(?:--|-?(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE}))(?:[A-Za-z0-9_-]|[^\x00-\x7f]|{_ESCAPE})*+"
_STRING: Final = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_NAME: Final = re.compile(rf"{_IDENT}|\*")
_PLAIN: Final = re.compile(rf"[.#]{_IDENT}")
_ATTRIBUTE: Final = re.compile(
    rf"""\[\s*+(?P<name>{_IDENT})\s*+
    (?:(?P<way>[~|^$*]?=)\s*+(?P<value>{_STRING}|[^\s\]"'\\]++)\s*+(?P<case>[iIsS]\s*+)?+)?+\]""",
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"\s*+")
_COMBINATOR: Final = re.compile(r"\s*+([>+~])\s*+|\s++(?=[^,)])")
_PSEUDO: Final = re.compile(rf"(::?)({_IDENT})(\(?)")
_MOST_DIGITS: Final = 6
_NTH: Final = re.compile(
    rf"""\s*+(?:(?P<word>odd|even)
    |(?P<step>[+-]?\d{{0,{_MOST_DIGITS}}})n(?:\s*+(?P<sign>[+-])\s*+(?P<offset>\d{{1,{_MOST_DIGITS}}}))?+
    |(?P<number>[+-]?\d{{1,{_MOST_DIGITS}}}))\s*+(?P<of>of\s++)?+""",
    re.VERBOSE | re.IGNORECASE,
)
_STATES: Final = frozenset(("any-link", "checked", "disabled", "empty", "link", "required", "root"))
_PLACES: Final = {
    "first-child": (Nth(step=0, offset=1),),
    "last-child": (Nth(step=0, offset=1, is_from_end=True),),
    "only-child": (Nth(step=0, offset=1), Nth(step=0, offset=1, is_from_end=True)),
    "first-of-type": (Nth(step=0, offset=1, is_of_type=True),),
    "last-of-type": (Nth(step=0, offset=1, is_of_type=True, is_from_end=True),),
    "only-of-type": (
        Nth(step=0, offset=1, is_of_type=True),
        Nth(step=0, offset=1, is_of_type=True, is_from_end=True),
    ),
}
_LISTS: Final = {"is": False, "where": False, "not": True}
_COUNTS: Final = ("nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type")
_NOT_CSS: Final = {
    "attr": "leave it out: only text is read",
    "contains": "select the element, and look for the words in its text",
    "eq": "use :nth-child(1), which counts from 1",
    "first": "use :first-child or :first-of-type",
    "last": "use :last-child or :last-of-type",
    "text": "leave it out: the text is read anyway",
    "visible": "leave it out",
}


def read_selector(text: str) -> tuple[Complex, ...]:
    """The selectors in a list such as 'h1, main p:not(.note)'.

    Raises:
        ToolValidationError: where it is no CSS, or none that is matched here.
    """
    strange = hidden_characters(text)
    if strange:
        raise ToolValidationError(f"selector has characters that do not show: {', '.join(strange)}")
    if len(text) > LONGEST_SELECTOR:
        raise ToolValidationError(
            f"selector has {len(text):,} characters, at most {LONGEST_SELECTOR} are read; write a simpler one"
        )
    if not text.strip():
        raise ToolValidationError("selector is empty: write CSS such as 'main p', or leave it out")
    return _Reader(text).read()


class _Reader:
    """Goes through a selector from left to right."""

    __slots__ = ("_at", "_depth", "_parts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._parts = 0

    def read(self) -> tuple[Complex, ...]:
        found = self._list()
        if self._at < len(self._text):
            raise self._unexpected()
        return found

    def _list(self, *, is_relative: bool = False) -> tuple[Complex, ...]:
        found = [self._complex(is_relative=is_relative)]
        while self._takes(","):
            found.append(self._complex(is_relative=is_relative))
        return tuple(found)

    def _complex(self, *, is_relative: bool) -> Complex:
        self._match(_SPACE)
        way: Combinator = " "
        if is_relative and self._text[self._at : self._at + 1] in (">", "+", "~"):
            way = self._combinator() or " "
        steps: list[tuple[Combinator, Compound]] = [(way, self._compound())]
        while (following := self._combinator()) is not None:
            steps.append((following, self._compound()))
        return Complex(steps=tuple(steps))

    def _combinator(self) -> Combinator | None:
        match = self._match(_COMBINATOR)
        if match is None:
            self._match(_SPACE)
            return None
        return cast("Combinator", match[1] or " ")

    def _compound(self) -> Compound:
        start = self._at
        name = self._match(_NAME)
        simple, checks = ["" if name is None else name[0]], list[Check]()
        self._count()
        while self._condition(simple, checks):
            self._count()
        if self._at == start:
            raise self._unexpected()
        return Compound(simple="".join(simple), checks=tuple(checks))

    def _count(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self._refused(f"it has more than {MOST_PARTS} parts; write a simpler one")

    def _condition(self, simple: list[str], checks: list[Check]) -> bool:
        """Read one more thing that an element must be; False where there is none."""
        match self._text[self._at : self._at + 1]:
            case "." | "#":
                found = self._match(_PLAIN)
                if found is None:
                    raise self._refused(
                        "a name must follow; one that begins with a digit is written [id='1a']"
                    )
                simple.append(found[0])
            case "[":
                simple.append(self._attribute())
            case ":":
                self._pseudo(simple, checks)
            case _:
                return False
        return True

    def _attribute(self) -> str:
        found = self._match(_ATTRIBUTE)
        if found is None:
            raise self._refused("an attribute is written [name] or [name='value']")
        if found["way"] is None:
            return f"[{found['name']}]"
        value, case = found["value"], found["case"]
        quoted = value if value[0] in "\"'" else f'"{value}"'
        return f"[{found['name']}{found['way']}{quoted}{f' {case.strip()}' if case else ''}]"

    def _pseudo(self, simple: list[str], checks: list[Check]) -> None:
        start = self._at
        found = self._match(_PSEUDO)
        if found is None:
            raise self._unexpected()
        name = found[2].lower()
        if found[1] == ":" and not found[3]:
            if name in _STATES:
                simple.append(f":{name}")
                return
            if name in _PLACES:
                checks += _PLACES[name]
                return
        if found[1] == ":" and found[3] and (name in _LISTS or name in _COUNTS or name == "has"):
            checks.append(self._within(name))
            return
        self._at = start
        raise self._refused(f"{found[0]} is not matched here; {_NOT_CSS.get(name, 'leave it out')}")

    def _within(self, name: str) -> Check:
        """What stands between the brackets of a function."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refused(f"more than {DEEPEST} brackets within brackets; write a simpler one")
        if name == "has":
            check: Check = Has(selectors=self._list(is_relative=True))
        elif name in _LISTS:
            check = Among(selectors=self._list(), is_negated=_LISTS[name])
        else:
            check = self._place(name)
        if not self._takes(")"):
            raise self._refused("a ) is missing")
        self._depth -= 1
        return check

    def _place(self, name: str) -> Nth:
        found = self._match(_NTH)
        is_of_type = name.endswith("of-type")
        if found is None or (found["of"] and is_of_type):
            raise self._refused("a place is written as 3, odd, even or 2n+1")
        if self._text[self._at : self._at + 1].isdigit():
            raise self._refused(f"a place has at most {_MOST_DIGITS} digits")
        if found["word"]:
            step, offset = 2, int(found["word"].lower() == "odd")
        elif found["number"]:
            step, offset = 0, int(found["number"])
        else:
            written = found["step"]
            step = int(f"{written}1") if written in ("", "+", "-") else int(written)
            offset = int(f"{found['sign'] or ''}{found['offset'] or 0}")
        return Nth(
            step=step,
            offset=offset,
            is_from_end="last" in name,
            is_of_type=is_of_type,
            among=self._list() if found["of"] else (),
        )

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _takes(self, character: str) -> bool:
        if not self._text.startswith(character, self._at):
            return False
        self._at += 1
        return True

    def _unexpected(self) -> ToolValidationError:
        if self._at >= len(self._text):
            return self._refused("it ends where a name, .class, #id or [attribute] is wanted")
        if self._text.startswith("/*", self._at):
            return self._refused("comments are not read; leave it out")
        hint = "; this looks like XPath, and CSS is wanted" if self._text[self._at] in "/@" else ""
        return self._refused(f"{self._text[self._at]!r} is not expected{hint}")

    def _refused(self, problem: str) -> ToolValidationError:
        shown = self._text if len(self._text) <= _LONGEST_SHOWN else f"{self._text[:_LONGEST_SHOWN]}..."
        return ToolValidationError(f"selector {shown!r} cannot be read at position {self._at}: {problem}")


_LONGEST_SHOWN: Final = 100
