"""Checks a CSS selector before anything is fetched; each error names the position and what to write instead.

The HTML library matches it. Its own errors say only that a selector is wrong.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.untrusted_text import hidden_characters

try:
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError
except ImportError as error:
    raise ImportError("selectors need selectolax: pip install 'toolhaft[web]'") from error

LONGEST_SELECTOR: Final = 500
MAX_PARTS: Final = 50
"""Elements, and conditions on them."""
MAX_NESTED: Final = 5
"""Brackets within brackets."""
_LONGEST_SHOWN: Final = 100

_ESCAPE: Final = r"\\(?:[0-9a-fA-F]{1,6}[ \t\n]?|[^\n0-9a-fA-F])"
_IDENT: Final = rf"(?:--|-?(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE}))(?:[A-Za-z0-9_-]|[^\x00-\x7f]|{_ESCAPE})*+"
_STRING: Final = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_TOKEN: Final = re.compile(
    rf"""(?P<name>{_IDENT}|\*)
    |(?P<condition>[.#]{_IDENT}|:(?:any-link|checked|disabled|empty|link|required|root)(?![\w(-]))
    |(?P<attribute>\[\s*+(?P<key>{_IDENT})\s*+
        (?:(?P<operator>[~|^$*]?=)\s*+(?P<value>{_STRING}|[^\s\]"'\\]++)\s*+(?P<case>[is]\s*+)?+)?+\])
    |:(?P<place>(?:first|last|only)-(?:child|of-type))(?![\w(-])
    |:(?P<list>has|is|not|where)\(\s*+
    |:(?P<count>nth-(?:last-)?(?:child|of-type))\(
    |\s*+(?P<close>\))|\s*+(?P<comma>,)\s*+|\s*+(?P<combinator>[>+~])\s*+|(?P<blank>\s++)""",
    re.VERBOSE | re.IGNORECASE,
)
_NTH: Final = re.compile(
    r"\s*+(?:odd|even|[+-]?\d*+n(?:\s*+[+-]\s*+\d++)?+|[+-]?\d++)\s*+(?P<of>of\s++)?+", re.IGNORECASE
)
_MAX_DIGITS: Final = 6
_LONG_NUMBER: Final = re.compile(rf"\d{{{_MAX_DIGITS}}}(?=\d)")
_PSEUDO: Final = re.compile(rf"::?({_IDENT})\(?")
_NOT_CSS: Final = {
    "attr": "leave it out: only text is read",
    "contains": "select the element, and look for the words in its text",
    "eq": "use :nth-child(1), which counts from 1",
    "first": "use :first-child or :first-of-type",
    "last": "use :last-child or :last-of-type",
    "text": "leave it out: the text is read anyway",
    "visible": "leave it out",
}


class Selector(NamedTuple):
    """A selector that the HTML library understands."""

    css: str
    parts: tuple[str, ...]
    """Name, classes, attributes and states of each element that it mentions, outside of brackets."""


def check_selector(text: str) -> Selector:
    """A selector such as 'h1, main p:not(.note)', ready to be matched.

    Raises:
        ToolValidationError: if it is not CSS, or uses a part of CSS that is not supported.
    """
    invisible = hidden_characters(text)
    if invisible:
        raise ToolValidationError(f"selector has hidden characters: {', '.join(invisible)}")
    if len(text) > LONGEST_SELECTOR:
        raise ToolValidationError(
            f"selector has {len(text):,} characters, at most {LONGEST_SELECTOR} are read; write a simpler one"
        )
    if not text.strip():
        raise ToolValidationError("selector is empty: write CSS such as 'main p', or leave it out")
    selector = _Checker(text).check()
    try:
        LexborHTMLParser(b"").css(selector.css)
    except SelectolaxError as error:
        raise ToolValidationError(
            f"selector {text[:_LONGEST_SHOWN]!r} cannot be read; write a simpler one"
        ) from error
    return selector


class _Checker:
    """Goes through a selector from token to token."""

    __slots__ = ("_at", "_css", "_is_element_due", "_mentioned", "_open", "_parts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = len(text) - len(text.lstrip())
        self._css: list[str] = []
        self._mentioned: list[str] = []
        self._open: list[str] = []
        """The functions whose brackets are open."""
        self._parts = 0
        self._is_element_due = True

    def check(self) -> Selector:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                raise self._refused(self._explain())
            kind = match.lastgroup or ""
            if kind in ("close", "comma", "combinator", "blank"):
                self._css.append(self._separate(kind, match))
            else:
                self._css.append(self._add(kind, match))
            self._at = max(self._at, match.end())
        if self._is_element_due:
            raise self._refused("it ends where a name, .class, #id or [attribute] is expected")
        if self._open:
            raise self._refused("a ) is missing")
        return Selector("".join(self._css), tuple(dict.fromkeys(self._mentioned)))

    def _separate(self, kind: str, match: re.Match[str]) -> str:
        """Check a comma, a combinator or a closing bracket; returns it as CSS."""
        is_relative = kind == "combinator" and self._open[-1:] == ["has"] and self._css[-1][-1] in "(,"
        if (self._is_element_due and not is_relative) or (kind == "close" and not self._open):
            self._at = match.start(kind)
            raise self._refused(self._explain())
        if kind == "close":
            self._open.pop()
            return ")"
        self._is_element_due = True
        return {"comma": ",", "blank": " "}.get(kind) or f" {match[kind]} "

    def _add(self, kind: str, match: re.Match[str]) -> str:
        """Check the name of an element, or a condition on it; returns it as CSS."""
        is_new, self._is_element_due = self._is_element_due, False
        if kind == "name" and not is_new:
            raise self._refused(self._explain())
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise self._refused(f"it has more than {MAX_PARTS} parts; write a simpler one")
        css = _quoted(match) if kind == "attribute" else match[0]
        if css.startswith(":"):
            css = css.lower().rstrip()
        if not self._open:
            self._mentioned += ("",) if is_new else ()
            self._mentioned[-1] += css if kind in ("name", "condition", "attribute") else ""
        if kind in ("list", "count"):
            self._open.append(match[kind].lower())
            self._is_element_due = kind == "list"
            if len(self._open) > MAX_NESTED:
                raise self._refused(f"more than {MAX_NESTED} brackets within brackets; write a simpler one")
        return css if kind != "count" else css + self._count(match)

    def _count(self, match: re.Match[str]) -> str:
        """Check the argument of :nth-child, up to a list of selectors."""
        self._at = match.end()
        found = _NTH.match(self._text, self._at)
        if found is None or (found["of"] and match["count"].lower().endswith("type")):
            raise self._refused("a position is written as 3, odd, even or 2n+1")
        long = _LONG_NUMBER.search(found[0])
        self._at += len(found[0]) if long is None else long.end()
        if long is not None:
            raise self._refused(f"a position has at most {_MAX_DIGITS} digits")
        if not found["of"] and not self._text.startswith(")", self._at):
            raise self._refused("a ) is missing")
        self._is_element_due = found["of"] is not None
        return found[0]

    def _explain(self) -> str:
        """Why there is no valid token at the current position."""
        rest = self._text[self._at :]
        if rest.startswith((".", "#")):
            return "a name must follow; one that begins with a digit is written [id='1a']"
        if rest.startswith("["):
            return "an attribute is written [name] or [name='value']"
        if rest.startswith("/*"):
            return "comments are not supported; leave it out"
        pseudo = _PSEUDO.match(rest)
        if pseudo is not None:
            return f"{pseudo[0]} is not supported; {_NOT_CSS.get(pseudo[1].lower(), 'leave it out')}"
        hint = "; this looks like XPath; write CSS" if rest[0] in "/@" else ""
        return f"{rest[0]!r} is not expected{hint}"

    def _refused(self, problem: str) -> ToolValidationError:
        shown = self._text if len(self._text) <= _LONGEST_SHOWN else f"{self._text[:_LONGEST_SHOWN]}..."
        return ToolValidationError(f"selector {shown!r} cannot be read at position {self._at}: {problem}")


def _quoted(attribute: re.Match[str]) -> str:
    """An attribute with quotes around its value: the library refuses [id=12]."""
    key, operator, value, case = (attribute[group] for group in ("key", "operator", "value", "case"))
    if operator is None:
        return f"[{key}]"
    quoted = value if value[0] in "\"'" else f'"{value}"'
    return f"[{key}{operator}{quoted}{f' {case.strip()}' if case else ''}]"
