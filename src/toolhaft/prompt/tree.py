"""The sections of a prompt as a tree in which each knows its path, with its tools made.

Knows what must hold whatever is bound; does not know values, visibility or overrides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from toolhaft.core.conversion import AnyTool, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.prompt.section import MarkdownSection, Section
from toolhaft.prompt.troubles import Path, dotted, invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A section at its place."""

    path: Path
    section: Section[Any]
    params_type: type | None
    """Its own type of params, or its parent's."""
    template: str | None
    """None for a section that makes its text in code."""
    summary: str | None
    tools: tuple[AnyTool, ...]
    children: tuple[Node, ...]

    def walk(self) -> Iterator[Node]:
        """This section and all within it, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


def plant(sections: Iterable[Section[Any]]) -> tuple[Node, ...]:
    """The tree of these sections.

    Raises:
        PromptValidationError: where two have one path, or a tool cannot be made as written.
    """
    nodes = tuple(_node(section, (), None) for section in sections)
    taken: dict[str, Path] = {}
    for root in nodes:
        for node in root.walk():
            said = dotted(node.path)
            if said in taken:
                raise invalid(
                    "two sections have this path",
                    path=node.path,
                    fix="give each a key of its own among its siblings",
                )
            taken[said] = node.path
    return nodes


def _node(section: Section[Any], above: Path, params_type: type | None) -> Node:
    path = (*above, section.key)
    own = section.params_type or params_type
    return Node(
        path=path,
        section=section,
        params_type=own,
        template=section.template if _has_template(section) else None,
        summary=section.summary,
        tools=tuple(_tool(thing, path) for thing in section.tools),
        children=tuple(_node(child, path, own) for child in section.children),
    )


def _has_template(section: Section[Any]) -> TypeGuard[MarkdownSection[Any]]:
    """False for a section that makes its text in code, also one that could have a template."""
    return isinstance(section, MarkdownSection) and type(section).body is Section.body


def _tool(thing: object, path: Path) -> AnyTool:
    try:
        return to_tool(thing)
    except DefinitionError as error:
        raise invalid(str(error), path=path) from error
