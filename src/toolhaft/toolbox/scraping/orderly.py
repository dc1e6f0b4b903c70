"""Writes a page anew so that a parser can read it in one way only, in time that its size alone decides.

The HTML library takes minutes over a page that is nested deep enough, or has enough attributes in a tag, and
fills the memory over one with enough open formatting. What it gets from here is quoted, bounded and closed in
order; a page that is in order stays what it is. Does not know selectors.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from toolhaft.toolbox.scraping.harmless import MOST_ATTRIBUTES, MOST_TAGS
from toolhaft.toolbox.scraping.markup import TAG, VOID, attributes_in
from toolhaft.toolbox.scraping.nesting import Nesting
from toolhaft.toolbox.scraping.source import Source

_MOST_NAMES: Final = 2_000
_NAME: Final = re.compile(r"[a-z][a-z0-9:_.-]{0,63}")
_ATTRIBUTE_NAME: Final = re.compile(r"[^\x00-\x20\"'<>/=\x7f]{1,100}")
_ONCE: Final = frozenset(("html", "head", "body"))
_FOREIGN: Final = ("svg", "math")
_READ_AS_MARKUP: Final = ("iframe", "noembed", "noframes", "plaintext", "xmp")
"""Elements whose content is no markup, but is read as if it were."""
_WITH_TEXT: Final = {
    "textarea": "&lt;",
    "title": "&lt;",
    "script": r"\u003c",  # as JSON and JavaScript write it
    **dict.fromkeys(_READ_AS_MARKUP, " "),
}
"""Elements whose content is no markup, and how it writes what would be a tag elsewhere."""


class Orderly(NamedTuple):
    """A page in order."""

    body: bytes
    is_whole: bool
    """False where it has more tags than are read."""


def put_in_order(body: bytes, *, most_tags: int = MOST_TAGS) -> Orderly:
    """A page in UTF-8, in order, as far as so many tags go."""
    source = Source(body, keeps_scripts=True)
    source.take(source.left)
    text = source.text
    end = text.rfind(">") + 1
    writer = _Writer(text[:end])
    is_whole = writer.write(most_tags)
    rest = text[end:] if is_whole else ""
    written = "".join((*writer.written, rest.replace("<", "&lt;")))
    return Orderly(written.encode(), is_whole)


class _Writer:
    """Goes through a page from tag to tag."""

    __slots__ = ("_at", "_endless", "_names", "_nesting", "_once", "_text", "written")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nesting = Nesting()
        self._once = set[str]()
        self._endless = set[str]()
        self._names = set[str]()
        self.written = ["<!DOCTYPE html>"]

    def write(self, most_tags: int) -> bool:
        """Write all of the page; False where it has too many tags."""
        for _ in range(most_tags):
            match = TAG.search(self._text, self._at)
            if match is None:
                self._write_text(self._text[self._at :])
                return True
            self._write_text(self._text[self._at : match.start()])
            self._at = match.end()
            name = match[1].lower()
            if name.startswith("/"):
                self._close(self._nesting.end(name[1:]))
            elif _NAME.fullmatch(name) and self._is_known(name):
                self._open(name, match)
        return False

    def _is_known(self, name: str) -> bool:
        """False for a name that a page has made up after too many others."""
        if name not in self._names and len(self._names) < _MOST_NAMES:
            self._names.add(name)
        return name in self._names

    def _write_text(self, text: str) -> None:
        self.written.append(text.replace("<", "&lt;") if "<" in text else text)

    def _close(self, names: list[str]) -> None:
        self.written += [f"</{name}>" for name in names]

    def _open(self, name: str, match: re.Match[str]) -> None:
        tag = f"<{name}{self._attributes(match)}>"
        is_foreign = self._nesting.is_in(_FOREIGN)
        if name in _ONCE:
            if name not in self._once:
                self._once.add(name)
                self.written.append(tag)
        elif name in _WITH_TEXT:
            self._write_element(name, tag)
        elif name in VOID or (is_foreign and match[0].endswith("/>")):
            self._close(self._nesting.before(name))
            self.written.append(f"{tag}</{name}>" if is_foreign else tag)
        elif name != "form" or not self._nesting.is_in(("form",)):  # a parser takes no form in a form
            self._close(self._nesting.before(name))
            self._nesting.start(name)
            self.written.append(tag)

    def _attributes(self, match: re.Match[str]) -> str:
        written = match.string[match.end(1) : match.end() - 1]
        if not written:
            return ""
        found = attributes_in(written, most=MOST_ATTRIBUTES)
        quoted = [
            f' {name}="{value.replace(chr(34), "&quot;")}"'
            for name, value in found.items()
            if _ATTRIBUTE_NAME.fullmatch(name) and self._is_known(name)
        ]
        return "".join(quoted)

    def _write_element(self, name: str, tag: str) -> None:
        """Write an element whose content is no markup; where it has no end it is left out."""
        end = None if name in self._endless else _end_of(name).search(self._text, self._at)
        if end is None:
            self._endless.add(name)  # nor has any that comes after
            return
        content = self._text[self._at : end.start()]
        self._at = end.end()
        if name in _READ_AS_MARKUP:
            last = content.rfind(">") + 1  # up to there every attempt at a tag ends in one
            content = TAG.sub(" ", content[:last]) + content[last:]
        self.written += (tag, content.replace("<", _WITH_TEXT[name]), f"</{name}>")


@lru_cache(maxsize=16)
def _end_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])[^>]*+>", re.IGNORECASE)
