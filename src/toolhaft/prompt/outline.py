"""A prompt as a tree to look at: sections, tools, visibility.

Knows what is there before anything is bound; does not write the prompt's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolhaft.errors import PromptError
from toolhaft.prompt.rendering import Leaf, Rendering
from toolhaft.prompt.troubles import Path
from toolhaft.prompt.visibility import SectionVisibility


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedSection:
    """One section of an outline."""

    path: Path
    title: str
    is_enabled: bool | None
    """None where it depends on params that are not bound."""
    visibility: SectionVisibility | None
    """None where it depends on params that are not bound."""
    tools: tuple[str, ...]
    is_hidden: bool
    """True if it stands within a summary, or a section that is not there: no model sees it."""
    children: tuple[OutlinedSection, ...]

    @property
    def has_hidden_tools(self) -> bool:
        """True if the tools that it has are not offered."""
        shown = self.is_enabled is not False and self.visibility is not SectionVisibility.SUMMARY
        return bool(self.tools) and (self.is_hidden or not shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A prompt's sections; `str` of it draws the tree."""

    name: str
    sections: tuple[OutlinedSection, ...]

    def __str__(self) -> str:
        return "\n".join((self.name, *_draw(self.sections, "")))


def outline_of(name: str, leaves: Iterable[Leaf], rendering: Rendering) -> Outline:
    """The outline of a prompt as it would be rendered."""
    return Outline(name=name, sections=_sections(leaves, rendering, is_hidden=False))


def _sections(
    leaves: Iterable[Leaf], rendering: Rendering, *, is_hidden: bool
) -> tuple[OutlinedSection, ...]:
    return tuple(_section(leaf, rendering, is_hidden=is_hidden) for leaf in leaves)


def _section(leaf: Leaf, rendering: Rendering, *, is_hidden: bool) -> OutlinedSection:
    is_enabled: bool | None = None
    visibility: SectionVisibility | None = None
    try:
        is_enabled = rendering.is_there(leaf)
        visibility = rendering.how(leaf)
    except PromptError:  # what it depends on is not bound; rendering tells it
        pass
    hides = is_hidden or is_enabled is False or visibility is SectionVisibility.SUMMARY
    return OutlinedSection(
        path=leaf.path,
        title=leaf.section.title,
        is_enabled=is_enabled,
        visibility=visibility,
        tools=tuple(tool.name for tool in leaf.tools),
        is_hidden=is_hidden,
        children=_sections(leaf.children, rendering, is_hidden=hides),
    )


def _draw(sections: tuple[OutlinedSection, ...], indent: str) -> Iterator[str]:
    for number, section in enumerate(sections, 1):
        is_last = number == len(sections)
        yield f"{indent}{'└── ' if is_last else '├── '}{section.path[-1]}: {section.title}{_marks(section)}"
        below = indent + ("    " if is_last else "│   ")
        if section.tools:
            hidden = " (hidden)" if section.has_hidden_tools else ""
            yield f"{below}{'│ ' if section.children else '  '}tools: {', '.join(section.tools)}{hidden}"
        yield from _draw(section.children, below)


def _marks(section: OutlinedSection) -> str:
    there = {True: "", False: "off", None: "on or off as its params say"}[section.is_enabled]
    shown = {SectionVisibility.FULL: "", SectionVisibility.SUMMARY: "summary", None: "full or summary"}
    marks = [mark for mark in (there, shown[section.visibility] if section.is_enabled else "") if mark]
    return f" [{', '.join(marks)}]" if marks else ""
