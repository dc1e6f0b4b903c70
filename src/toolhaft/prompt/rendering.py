"""Renders the sections of a prompt as one text, and collects the tools of those shown in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Generic, cast

from toolhaft.core import notebook
from toolhaft.core.conversion import AnyTool
from toolhaft.prompt.problems import SectionPath, dotted_path, evaluation_failed, invalid
from toolhaft.prompt.section import Immutable
from toolhaft.prompt.structured import OutputT, StructuredOutput
from toolhaft.prompt.templates import PromptTemplate
from toolhaft.prompt.tree import BoundParams, CompiledSection
from toolhaft.prompt.visibility import SectionVisibility

_DEEPEST_HEADING: Final = 6  # the limit of Markdown
_FULL: Final = SectionVisibility.FULL
_RENAME_TOOL: Final = "give each tool a different name, and put it in one section"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderedPrompt(Immutable, Generic[OutputT]):
    """One rendering of a prompt; `str` of it is the text."""

    name: str
    text: str
    tools: tuple[AnyTool, ...] = ()
    """The tools of the sections shown in full, in the order of the text, then the summary tools."""
    structured_output: StructuredOutput[OutputT] | None = None
    visibility: Mapping[SectionPath, SectionVisibility] = field(
        default_factory=lambda: MappingProxyType[SectionPath, SectionVisibility]({})
    )
    """How each enabled section is shown; sections within a summary are left out."""
    owners: Mapping[str, SectionPath] = field(default_factory=lambda: MappingProxyType[str, SectionPath]({}))
    """The section of each tool, by the tool's name."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The text and the names of the tools in a notebook."""
        names = ", ".join(tool.name for tool in self.tools)
        body = notebook.preformatted(self.text)
        return notebook.frame(f"Prompt {self.name}, rendered", body, notebook.facts({"tools": names}))

    def __reduce__(self) -> tuple[Callable[..., RenderedPrompt[Any]], tuple[str, str]]:
        return _without_tools, (self.name, self.text)  # handlers cannot be pickled


def _without_tools(name: str, text: str) -> RenderedPrompt[Any]:
    return RenderedPrompt(name=name, text=text)


class Rendering:
    """One pass over the sections: the text blocks, the tools, and how each section is shown."""

    def __init__(
        self, params: BoundParams, session: object, wanted: Mapping[SectionPath, SectionVisibility]
    ) -> None:
        self._params = params
        self._session = session
        self._wanted = wanted
        self.blocks: list[str] = []
        self.tools: list[AnyTool] = []
        self.visibility: dict[SectionPath, SectionVisibility] = {}
        """How each enabled section is shown; sections within a summary are left out."""
        self.owners: dict[str, SectionPath] = {}
        """The section of each tool, hidden ones too."""

    def write_all(self, sections: Iterable[CompiledSection], parent_number: str = "") -> None:
        """Write sections and their descendants, numbered."""
        number = 0
        for section in sections:
            if self.is_enabled(section):
                number += 1
                self.write(section, f"{parent_number}{number}.", self.visibility_of(section))

    def write(self, section: CompiledSection, number: str, visibility: SectionVisibility) -> None:
        """Write one section and its descendants."""
        self.visibility[section.path] = visibility
        self._claim_names(section)
        level = min(len(section.path) + 1, _DEEPEST_HEADING)
        heading = f"{'#' * level} {number} {section.section.title}"
        body = self._body(section) if visibility is _FULL else self._summary(section)
        self.blocks.append(f"{heading}\n\n{body}" if body else heading)
        if visibility is _FULL:
            self.tools += section.tools
            self.write_all(section.children, number)
        else:
            self._check_params(section)
            self._check_hidden(section.children)

    def is_enabled(self, section: CompiledSection) -> bool:
        """True if the section is enabled."""
        setting = section.section.enabled
        params = self._params.of(section) if setting.takes_params else None
        return setting.evaluate(params, self._session, section.path)

    def visibility_of(self, section: CompiledSection) -> SectionVisibility:
        """How a section is shown: as `with_visibility` requests, else by its own setting."""
        setting = section.section.visibility
        visibility = self._wanted.get(section.path)
        if visibility is None:
            params = self._params.of(section) if setting.takes_params else None
            visibility = setting.evaluate(params, self._session, section.path)
        if visibility is not _FULL and section.summary is None:
            raise invalid(
                "it cannot be summarised: it has no summary", path=section.path, fix="give summary='...'"
            )
        return visibility

    def _body(self, section: CompiledSection) -> str:
        if section.template is not None:
            return self._fill(section, section.template)
        params, path = self._params.of(section), section.path
        try:
            text: object = section.section.body(params)
        except Exception as error:
            raise evaluation_failed(f"its body failed: {type(error).__name__}: {error}", path=path) from error
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- the user's code may not be typed
            raise evaluation_failed(f"its body returned {text!r:.60}, which is not text", path=path)
        return text.strip()

    def _summary(self, section: CompiledSection) -> str:
        key = dotted_path(section.path)
        opened = (
            "shows it in full and makes its tools available" if section.has_tools else "keeps it in full view"
        )
        hint = f'[Summary of section "{key}": read_section gives its text once; open_sections {opened}.]'
        return f"{self._fill(section, cast('PromptTemplate', section.summary))}\n\n{hint}"

    def _fill(self, section: CompiledSection, template: PromptTemplate) -> str:
        if not template.names:
            return template.fill(None, section.path)
        return template.fill(self._params.of(section, template.names), section.path)

    def _claim_names(self, section: CompiledSection) -> None:
        """Record the names of a section's tools.

        Raises:
            PromptValidationError: if another tool has one of them.
        """
        for tool in section.tools:
            owner = self.owners.setdefault(tool.name, section.path)
            if owner is not section.path:
                problem = f"tool {tool.name!r} is in section {dotted_path(owner)!r} already"
                raise invalid(problem, path=section.path, fix=_RENAME_TOOL)
        names = [tool.name for tool in section.tools]
        if len(set(names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            problem = f"tool {repeated!r} is in this section twice"
            raise invalid(problem, path=section.path, fix=_RENAME_TOOL)

    def _check_hidden(self, sections: Iterable[CompiledSection]) -> None:
        """Report now what would fail when a model opens these sections."""
        for section in sections:
            if section.section.enabled.value is True:
                self._check_params(section)
                self._claim_names(section)
                self._check_hidden(section.children)

    def _check_params(self, section: CompiledSection) -> None:
        """Report missing params now: the section needs them when a model opens it."""
        templates = (section.template, section.summary)
        names = [name for template in templates if template is not None for name in template.names]
        if names:
            self._params.of(section, names)
