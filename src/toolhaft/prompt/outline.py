"""The outline of a prompt: its tree of sections with tools and visibility, also before params are bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolhaft.errors import PromptError
from toolhaft.prompt.problems import SectionPath
from toolhaft.prompt.rendering import Rendering
from toolhaft.prompt.tree import CompiledSection
from toolhaft.prompt.visibility import SectionVisibility


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedSection:
    """One section of an outline."""

    path: SectionPath
    title: str
    is_enabled: bool | None
    """None if it depends on params that are not bound."""
    visibility: SectionVisibility | None
    """None if it depends on params that are not bound."""
    tools: tuple[str, ...]
    is_hidden: bool
    """True if it is within a summary or a disabled section, so that the model does not see it."""
    children: tuple[OutlinedSection, ...]

    @property
    def has_hidden_tools(self) -> bool:
        """True if it has tools and the model does not get them."""
        shown = self.is_enabled is not False and self.visibility is not SectionVisibility.SUMMARY
        return bool(self.tools) and (self.is_hidden or not shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A prompt's sections; `str` of it draws the tree."""

    name: str
    sections: tuple[OutlinedSection, ...]

    def __str__(self) -> str:
        return "\n".join((self.name, *_draw(self.sections, "")))


def outline_of(name: str, sections: Iterable[CompiledSection], rendering: Rendering) -> Outline:
    """The outline of a prompt as it would be rendered."""
    return Outline(name=name, sections=tuple(_outline(one, rendering, is_hidden=False) for one in sections))


def _outline(section: CompiledSection, rendering: Rendering, *, is_hidden: bool) -> OutlinedSection:
    is_enabled: bool | None = None
    visibility: SectionVisibility | None = None
    try:
        is_enabled = rendering.is_enabled(section)
        visibility = rendering.visibility_of(section)
    except PromptError:  # its params are not bound, which `render` reports
        pass
    hides = is_hidden or is_enabled is False or visibility is SectionVisibility.SUMMARY
    return OutlinedSection(
        path=section.path,
        title=section.section.title,
        is_enabled=is_enabled,
        visibility=visibility,
        tools=tuple(tool.name for tool in section.tools),
        is_hidden=is_hidden,
        children=tuple(_outline(child, rendering, is_hidden=hides) for child in section.children),
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
    enabled = {True: "", False: "off", None: "on or off, depending on params"}[section.is_enabled]
    shown = {SectionVisibility.FULL: "", SectionVisibility.SUMMARY: "summary", None: "full or summary"}
    marks = [mark for mark in (enabled, shown[section.visibility] if section.is_enabled else "") if mark]
    return f" [{', '.join(marks)}]" if marks else ""
