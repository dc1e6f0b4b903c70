"""The two tools that show a model more of a summarised section: from now on, or once.

`open_sections` only asks for it; the caller of the model renders the prompt again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, NoReturn

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import ToolExecutionError, ToolValidationError, VisibilityExpansionRequired
from toolhaft.prompt.problems import SectionPath, dotted_path
from toolhaft.prompt.rendering import Rendering
from toolhaft.prompt.tree import BoundParams, CompiledSection
from toolhaft.prompt.visibility import SectionVisibility
from toolhaft.schema.nearest import nearest

SUMMARY_TOOL_NAMES: Final = ("open_sections", "read_section")
_KEY_HELP: Final = "as its summary names it, such as 'parent.child'"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSections:
    """The arguments of `open_sections`."""

    section_keys: tuple[str, ...] = field(
        metadata={"description": f"The sections to open, each {_KEY_HELP}.", "min_length": 1}
    )
    reason: str = field(default="", metadata={"description": "Why they are needed, in a few words."})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSection:
    """The arguments of `read_section`."""

    section_key: str = field(metadata={"description": f"The section to read, {_KEY_HELP}."})


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionText:
    """The result of `read_section`."""

    content: str

    def render(self) -> str:
        """The text."""
        return self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionsOpened:
    """A model asked to see sections in full; the session logs this, and a rollback does not remove it."""

    __snapshot_name__ = "toolhaft.prompt.opening:SectionsOpened"  # in snapshots of earlier versions

    prompt: str
    section_keys: tuple[str, ...]
    reason: str = ""


class _Found(NamedTuple):
    """An enabled section with its number."""

    section: CompiledSection
    number: str
    closed: tuple[SectionPath, ...]
    """The summarised ones among the section and its parents."""


class SummaryTools:
    """The handlers of the two tools for one rendering of one prompt."""

    def __init__(
        self,
        *,
        prompt: str,
        sections: tuple[CompiledSection, ...],
        params: BoundParams,
        wanted: Mapping[SectionPath, SectionVisibility],
        max_expansions: int,
    ) -> None:
        self._prompt = prompt
        self._sections = sections
        self._params = params
        self._wanted = wanted
        self._max_expansions = max_expansions
        self._expansions: dict[str | None, int] = {}
        """By session id, since no log is kept by an executor that has the tools without the prompt."""

    def tools(self) -> tuple[AnyTool, ...]:
        """The two tools."""
        open_sections, read_section = _tools()
        return open_sections.replace(handler=self.open), read_section.replace(handler=self.read)

    def open(self, params: OpenSections, *, context: ToolContext) -> NoReturn:
        """Ask the caller of the model to show sections in full from now on."""
        found = [self._find(key, context.session) for key in params.section_keys]
        requested = {path: SectionVisibility.FULL for one in found for path in one.closed}
        if not requested:
            are = f"{', '.join(map(repr, params.section_keys))} {'is' if len(found) == 1 else 'are'}"
            raise ToolValidationError(f"{are} shown in full already: read on above.")
        opened = context.session[SectionsOpened]
        id = getattr(context.session, "id", None)
        count = max(self._expansions.get(id, 0), sum(one.prompt == self._prompt for one in opened))
        if count >= self._max_expansions:
            raise ToolExecutionError(
                f"sections of this prompt were opened {count} times, which is the limit. "
                "Go on with what is shown, or use read_section."
            )
        self._expansions[id] = count + 1
        opened.append(
            SectionsOpened(prompt=self._prompt, section_keys=params.section_keys, reason=params.reason)
        )
        raise VisibilityExpansionRequired(
            f"the model asks to see {', '.join(params.section_keys)} in full",
            requested_overrides=requested,
            reason=params.reason,
            section_keys=params.section_keys,
            section_path=next(iter(requested)),
        )

    def read(self, params: ReadSection, *, context: ToolContext) -> ToolResult[SectionText]:
        """Return the text of a section once; its children are shown as they would be in the prompt."""
        found = self._find(params.section_key, context.session)
        if not found.closed:
            raise ToolValidationError(f"{params.section_key!r} is shown in full already: read on above.")
        rendering = Rendering(self._params, context.session, self._wanted)
        rendering.write(found.section, found.number, SectionVisibility.FULL)
        text = SectionText(content="\n\n".join(rendering.blocks))
        return ToolResult(value=text, message=f"Section {params.section_key!r}:")

    def _find(self, key: str, session: object) -> _Found:
        """The section with the dotted key that the model gave.

        Raises:
            ToolValidationError: if no enabled section has it.
        """
        rendering = Rendering(self._params, session, self._wanted)
        known: list[str] = []
        for found in _walk(self._sections, rendering):
            dotted = dotted_path(found.section.path)
            if dotted == key.strip():
                return found
            if found.closed:
                known.append(dotted)
        close = nearest(key, known)
        hint = f"Did you mean {close!r}?" if close else f"Summarised are: {', '.join(known)}."
        raise ToolValidationError(f"there is no section {key!r:.80}. {hint}")


def is_summary_tool(tool: AnyTool) -> bool:
    """True for one of the two tools, of any rendering."""
    return isinstance(getattr(tool.handler, "__self__", None), SummaryTools)


def _walk(
    sections: Iterable[CompiledSection],
    rendering: Rendering,
    parent_number: str = "",
    closed: tuple[SectionPath, ...] = (),
) -> Iterable[_Found]:
    """Every enabled section, in the order of the text, also within summaries."""
    count = 0
    for section in sections:
        if not rendering.is_enabled(section):
            continue
        count += 1
        number = f"{parent_number}{count}."
        is_full = rendering.visibility_of(section) is SectionVisibility.FULL
        here = closed if is_full else (*closed, section.path)
        yield _Found(section, number, here)
        yield from _walk(section.children, rendering, number, here)


@cache
def _tools() -> tuple[Tool[Any, Any], Tool[Any, Any]]:
    """The two tools without handlers, which each rendering adds."""
    return (
        Tool[OpenSections, None](
            name=SUMMARY_TOOL_NAMES[0],
            description="Show summarised sections in full from now on, with the tools that belong to them.",
            effect="reversible",
            isolation="inline",
            accepts_overrides=False,
        ),
        Tool[ReadSection, SectionText](
            name=SUMMARY_TOOL_NAMES[1],
            description="Read the whole text of a summarised section once; its tools stay unavailable.",
            effect="read",
            isolation="inline",
            accepts_overrides=False,
        ),
    )
