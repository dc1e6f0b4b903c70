"""The two tools by which a model sees more of a summarised section: for good, or once.

Knows what was rendered; does not render it anew, which is for whoever runs the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, NoReturn

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.errors import ToolExecutionError, ToolValidationError, VisibilityExpansionRequired
from toolhaft.prompt.rendering import Leaf, Rendering, Values
from toolhaft.prompt.troubles import Path, dotted
from toolhaft.prompt.visibility import SectionVisibility
from toolhaft.schema.nearest import nearest

NAMES = ("open_sections", "read_section")
_KEY_HELP = "as its summary names it, such as 'parent.child'"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSections:
    """What `open_sections` takes."""

    section_keys: tuple[str, ...] = field(
        metadata={"description": f"The sections to open, each {_KEY_HELP}.", "min_length": 1}
    )
    reason: str = field(default="", metadata={"description": "Why they are needed, in a few words."})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSection:
    """What `read_section` takes."""

    section_key: str = field(metadata={"description": f"The section to read, {_KEY_HELP}."})


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionText:
    """What `read_section` gives."""

    content: str

    def render(self) -> str:
        """The text itself."""
        return self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionsOpened:
    """A model has asked to see sections in full; a log in the session that no rollback touches."""

    prompt: str
    section_keys: tuple[str, ...]
    reason: str = ""


class _Found(NamedTuple):
    """A section that is there, and those that it is within."""

    leaf: Leaf
    number: str
    closed: tuple[Path, ...]
    """It and its parents, so far as they are summarised."""


class Opener:
    """The handlers of the two tools for one rendering of one prompt."""

    def __init__(
        self,
        *,
        prompt: str,
        leaves: tuple[Leaf, ...],
        values: Values,
        wanted: Mapping[Path, SectionVisibility],
        most: int,
    ) -> None:
        self._prompt = prompt
        self._leaves = leaves
        self._values = values
        self._wanted = wanted
        self._most = most
        self._asked: dict[str | None, int] = {}
        """How often, by session: an executor that has only the tools keeps no log of it."""

    def tools(self) -> tuple[AnyTool, ...]:
        """The two tools."""
        open_sections, read_section = _tools()
        return open_sections.replace(handler=self.open), read_section.replace(handler=self.read)

    def open(self, params: OpenSections, *, context: ToolContext) -> NoReturn:
        """Ask whoever runs the model to show sections in full from now on."""
        found = [self._find(key, context.session) for key in params.section_keys]
        requested = {path: SectionVisibility.FULL for one in found for path in one.closed}
        if not requested:
            raise ToolValidationError(f"{_listed(params.section_keys)} shown in full already: read on above.")
        opened = context.session[SectionsOpened]
        here = getattr(context.session, "id", None)
        asked = max(self._asked.get(here, 0), sum(one.prompt == self._prompt for one in opened))
        if asked >= self._most:
            raise ToolExecutionError(
                f"sections of this prompt were opened {asked} times, and no more are. "
                "Go on with what is shown, or use read_section."
            )
        self._asked[here] = asked + 1
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
        """Give the text of a section once; what is within it is shown as it would be in the prompt."""
        found = self._find(params.section_key, context.session)
        if not found.closed:
            raise ToolValidationError(f"{params.section_key!r} is shown in full already: read on above.")
        rendering = Rendering(self._values, context.session, self._wanted)
        rendering.write(found.leaf, found.number, SectionVisibility.FULL)
        text = SectionText(content="\n\n".join(rendering.blocks))
        return ToolResult(value=text, message=f"Section {params.section_key!r}:")

    def _find(self, key: str, session: object) -> _Found:
        """A section by what the model calls it.

        Raises:
            ToolValidationError: where none that is there is called so.
        """
        rendering = Rendering(self._values, session, self._wanted)
        known: list[str] = []
        for found in _walk(self._leaves, rendering):
            said = dotted(found.leaf.path)
            if said == key.strip():
                return found
            if found.closed:
                known.append(said)
        meant = nearest(key, known)
        hint = f"Did you mean {meant!r}?" if meant else f"Summarised are: {', '.join(known)}."
        raise ToolValidationError(f"there is no section {key!r:.80}. {hint}")


def is_opener(tool: AnyTool) -> bool:
    """True for one of the two tools, of whichever rendering."""
    return isinstance(getattr(tool.handler, "__self__", None), Opener)


def _walk(
    leaves: Iterable[Leaf], rendering: Rendering, above: str = "", closed: tuple[Path, ...] = ()
) -> Iterable[_Found]:
    """Every section that is there, in the order of the text, those within summaries too."""
    number = 0
    for leaf in leaves:
        if not rendering.is_there(leaf):
            continue
        number += 1
        place = f"{above}{number}."
        shut = closed if rendering.how(leaf) is SectionVisibility.FULL else (*closed, leaf.path)
        yield _Found(leaf, place, shut)
        yield from _walk(leaf.children, rendering, place, shut)


def _listed(keys: tuple[str, ...]) -> str:
    return f"{', '.join(map(repr, keys))} {'is' if len(keys) == 1 else 'are'}"


@cache
def _tools() -> tuple[Tool[Any, Any], Tool[Any, Any]]:
    """The two tools, whose handlers come with each rendering."""
    return (
        Tool[OpenSections, None](
            name=NAMES[0],
            description="Show summarised sections in full from now on, with the tools that belong to them.",
            effect="reversible",
            isolation="inline",
            accepts_overrides=False,
        ),
        Tool[ReadSection, SectionText](
            name=NAMES[1],
            description="Read the whole text of a summarised section once; its tools stay unavailable.",
            effect="read",
            isolation="inline",
            accepts_overrides=False,
        ),
    )
