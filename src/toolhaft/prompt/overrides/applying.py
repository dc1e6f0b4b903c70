"""Puts overrides in the place of what the sections and tools of a prompt say.

Knows nodes, tools and digests; does not know files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError, PromptValidationError
from toolhaft.prompt.overrides.digests import section_digest, tool_digest
from toolhaft.prompt.overrides.findings import Findings
from toolhaft.prompt.overrides.override import Overrides, SectionOverride, ToolOverride
from toolhaft.prompt.templates import read_template
from toolhaft.prompt.tree import Node
from toolhaft.prompt.troubles import Path, dotted
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import show

_MOST_LISTED: Final = 12


def apply_overrides(nodes: tuple[Node, ...], overrides: Overrides) -> tuple[Node, ...]:
    """The sections with other texts and other words of their tools; those without stay the same objects.

    Where several sections have a tool of one name, each that is as the override knew it takes it.

    Raises:
        PromptValidationError: with everything that cannot be overridden so.
    """
    work = _Work(found=Findings(overrides.file), all=[node for root in nodes for node in root.walk()])
    texts = work.texts(overrides.sections)
    tools = work.words(overrides.tools)
    work.found.settle()
    return tuple(_rebuilt(node, texts, tools) for node in nodes)


_Texts = Mapping[Path, SectionOverride]
_Tools = Mapping[int, AnyTool]
"""The tools that take the place of others, by the identity of those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    found: Findings
    all: list[Node]

    def texts(self, wanted: Mapping[str, SectionOverride]) -> _Texts:
        """The overrides of sections that may be applied, by path."""
        known = {dotted(node.path): node for node in self.all}
        good: dict[Path, SectionOverride] = {}
        for key, override in wanted.items():
            place, node = f"section {show(key)}", known.get(key)
            if node is None:
                self.found.add(place, "there is no such section", _hint(key, known))
            elif not node.section.accepts_overrides:
                fix = "remove the override, or let the code say accepts_overrides=True"
                self.found.add(place, "the section does not accept overrides", fix, node.path)
            elif override.digest != section_digest(node):
                now = section_digest(node)
                self.found.add(place, *_stale("section", override.digest, now), node.path)
            else:
                self._check_texts(place, node, override)
                good[node.path] = override
        return good

    def _check_texts(self, place: str, node: Node, override: SectionOverride) -> None:
        if override.text is not None and node.template is None:
            fix = "remove 'text'; the code makes it anew at each rendering"
            self.found.add(place, "its text is made in code", fix, node.path)
        if override.summary is not None and node.summary is None:
            fix = "remove 'summary', or give the section one in the code"
            self.found.add(place, "the section has no summary", fix, node.path)
        for name, text in (("text", override.text), ("summary", override.summary)):
            try:
                read_template(text or "", node.params_type, (), name)
            except PromptValidationError as error:  # a `$name` that the params do not have
                self.found.add(place, str(error), "", node.path)

    def words(self, wanted: Mapping[str, ToolOverride]) -> _Tools:
        """The tools in their new words."""
        known: dict[str, list[tuple[Node, AnyTool]]] = {}
        for node in self.all:
            for tool in node.tools:
                known.setdefault(tool.name, []).append((node, tool))
        made: dict[int, AnyTool] = {}
        for name, override in wanted.items():
            place, holders = f"tool {show(name)}", known.get(name)
            if holders is None:
                self.found.add(place, "no section has such a tool", _hint(name, known))
                continue
            for node, tool in self._fitting(place, holders, override):
                made[id(tool)] = self._reworded(place, node, tool, override)
        return made

    def _fitting(
        self, place: str, holders: list[tuple[Node, AnyTool]], override: ToolOverride
    ) -> list[tuple[Node, AnyTool]]:
        """The tools of a name that the override was written for."""
        node, tool = next(((node, tool) for node, tool in holders if not tool.accepts_overrides), holders[0])
        if not tool.accepts_overrides:
            fix = "remove the override, or let the code say accepts_overrides=True"
            self.found.add(place, "the tool does not accept overrides", fix, node.path)
            return []
        good = [(node, tool) for node, tool in holders if tool_digest(tool) == override.digest]
        if not good:
            self.found.add(place, *_stale("tool", override.digest, tool_digest(tool)), node.path)
        return good

    def _reworded(self, place: str, node: Node, tool: AnyTool, override: ToolOverride) -> AnyTool:
        try:
            return tool.with_words(
                description=override.description,
                parameters=override.parameters,
                examples=override.examples,
            )
        except DefinitionError as together:
            for error in list(_troubles(tool, override)) or [together]:
                self.found.add(f"{place}, {error.place}", error.problem, error.fix, node.path)
            return tool


def _troubles(tool: AnyTool, override: ToolOverride) -> Iterator[DefinitionError]:
    """What is wrong with an override, each word tried alone."""
    tries: list[ToolOverride] = [
        ToolOverride(digest="", description=override.description),
        *(ToolOverride(digest="", parameters={name: text}) for name, text in override.parameters.items()),
        *(ToolOverride(digest="", examples=(example,)) for example in override.examples or ()),
    ]
    first_example = 1 + len(override.parameters)
    for number, one in enumerate(tries):
        try:
            tool.with_words(description=one.description, parameters=one.parameters, examples=one.examples)
        except DefinitionError as error:
            place = error.place
            if number >= first_example:  # alone, each is the first
                place = f"example {number - first_example + 1}"
            yield DefinitionError(error.problem, place=place, fix=error.fix or "mend it, or leave it out")


def _stale(kind: str, old: str, new: str) -> tuple[str, str]:
    problem = f"it was written for digest {old}, and the {kind} has changed since: its digest is now {new}"
    return problem, f"read what the {kind} says now, then set digest: {new!r}, or remove the override"


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = nearest(name, names)
    if close:
        return f"did you mean {close!r}?"
    listed = ", ".join(names[:_MOST_LISTED])
    return f"there are: {listed}" if listed else "there are none; remove the override"


def _rebuilt(node: Node, texts: _Texts, tools: _Tools) -> Node:
    override = texts.get(node.path)
    children = tuple(_rebuilt(child, texts, tools) for child in node.children)
    own = tuple(tools.get(id(tool), tool) for tool in node.tools)
    template, summary = node.template, node.summary
    if override is not None:
        template = template if override.text is None else override.text
        summary = summary if override.summary is None else override.summary
    is_same = all(
        one is other for one, other in zip((*children, *own), (*node.children, *node.tools), strict=True)
    )
    if override is None and is_same:
        return node
    return replace(node, template=template, summary=summary, tools=own, children=children)
