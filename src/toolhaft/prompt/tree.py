"""The tree of a prompt's sections, as written and compiled for rendering, and the params bound to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from pydantic import ValidationError

from toolhaft.core.conversion import AnyTool, to_tool
from toolhaft.errors import DefinitionError
from toolhaft.prompt.problems import SectionPath, dotted_path, invalid
from toolhaft.prompt.section import MarkdownSection, Section
from toolhaft.prompt.templates import PromptTemplate, parse_template


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionNode:
    """A section at its path, with its texts as written and its tools converted."""

    path: SectionPath
    section: Section[Any]
    params_type: type | None
    """Its own type of params, or its parent's."""
    template: str | None
    """None for a section that makes its text in code."""
    summary: str | None
    tools: tuple[AnyTool, ...]
    children: tuple[SectionNode, ...]

    def walk(self) -> Iterator[SectionNode]:
        """This section and its descendants, in the order of the text."""
        yield self
        for child in self.children:
            yield from child.walk()


def build_tree(sections: Iterable[Section[Any]]) -> tuple[SectionNode, ...]:
    """The nodes of these sections.

    Raises:
        PromptValidationError: if two have the same path, or a tool is invalid.
    """
    nodes = tuple(_build_node(section, (), None) for section in sections)
    taken: set[str] = set()
    for node in (node for root in nodes for node in root.walk()):
        if dotted_path(node.path) in taken:
            fix = "give each a different key among its siblings"
            raise invalid("two sections have this path", path=node.path, fix=fix)
        taken.add(dotted_path(node.path))
    return nodes


def _build_node(section: Section[Any], parent: SectionPath, params_type: type | None) -> SectionNode:
    path = (*parent, section.key)
    own_type = section.params_type or params_type
    return SectionNode(
        path=path,
        section=section,
        params_type=own_type,
        template=section.template if _has_template(section) else None,
        summary=section.summary,
        tools=tuple(_convert_tool(thing, path) for thing in section.tools),
        children=tuple(_build_node(child, path, own_type) for child in section.children),
    )


def _has_template(section: Section[Any]) -> TypeGuard[MarkdownSection[Any]]:
    """False for a section that makes its text in code, even if it derives from MarkdownSection."""
    return isinstance(section, MarkdownSection) and type(section).body is Section.body


def _convert_tool(thing: object, path: SectionPath) -> AnyTool:
    try:
        return to_tool(thing)
    except DefinitionError as error:
        raise invalid(str(error), path=path) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSection:
    """A section with parsed templates, ready to be rendered."""

    path: SectionPath
    section: Section[Any]
    params_type: type | None
    template: PromptTemplate | None
    summary: PromptTemplate | None
    tools: tuple[AnyTool, ...]
    children: tuple[CompiledSection, ...]
    has_tools: bool
    """True if it or a descendant has tools."""


def compile_sections(nodes: Iterable[SectionNode]) -> tuple[CompiledSection, ...]:
    """The sections with their templates parsed.

    Raises:
        PromptValidationError: if a text has a `$name` that the params do not have.
    """
    return tuple(_compile(node) for node in nodes)


def _compile(node: SectionNode) -> CompiledSection:
    kind, path = node.params_type, node.path
    children = compile_sections(node.children)
    return CompiledSection(
        path=path,
        section=node.section,
        params_type=kind,
        template=None if node.template is None else parse_template(node.template, kind, path),
        summary=None if node.summary is None else parse_template(node.summary, kind, path, "summary"),
        tools=node.tools,
        children=children,
        has_tools=bool(node.tools) or any(child.has_tools for child in children),
    )


class BoundParams:
    """The values bound to a prompt, by type."""

    __slots__ = ("_bound", "_found")

    def __init__(self, bound: Mapping[type, object]) -> None:
        self._bound = bound
        self._found: dict[type, object] = dict(bound)

    def of(self, section: CompiledSection, names: Sequence[str] = ()) -> object:
        """The params of a section: bound, or of a bound subtype, or created from defaults.

        Raises:
            PromptValidationError: if there are none; names the `$names` that need them.
        """
        kind = section.params_type
        if kind is None:
            return None
        if kind not in self._found:
            derived = [value for value in self._bound.values() if isinstance(value, kind)]
            self._found[kind] = derived[-1] if derived else _create_default(kind, section.path, names)
        return self._found[kind]


def _create_default(kind: type, path: SectionPath, names: Sequence[str]) -> object:
    try:
        return kind()
    except Exception as error:
        needs = f", and its text needs {', '.join(f'${name}' for name in dict.fromkeys(names))}"
        problem = f"{kind.__name__} is not bound{needs if names else ''}"
        if not isinstance(error, TypeError | ValidationError):  # no value is missing: its own code failed
            problem += f"; made from its defaults it fails: {type(error).__name__}: {error}"
        raise invalid(
            problem, path=path, fix=f"render the prompt that bind({kind.__name__}(...)) returns"
        ) from error
