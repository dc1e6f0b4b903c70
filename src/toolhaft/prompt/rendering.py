"""Writes the sections of a prompt as one text, and gathers the tools of those that are shown.

Knows trees, templates and visibility; does not know prompts or who calls the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import ValidationError

from toolhaft.core.conversion import AnyTool
from toolhaft.prompt.section import Section
from toolhaft.prompt.templates import Template, read_template
from toolhaft.prompt.tree import Node
from toolhaft.prompt.troubles import Path, dotted, invalid, unevaluated
from toolhaft.prompt.visibility import SectionVisibility

_DEEPEST_HEADING: Final = 6  # Markdown knows no more
_FULL: Final = SectionVisibility.FULL


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A section ready to be written."""

    path: Path
    section: Section[Any]
    params_type: type | None
    template: Template | None
    summary: Template | None
    tools: tuple[AnyTool, ...]
    children: tuple[Leaf, ...]
    is_certain: bool
    """True if no function decides whether it is there."""
    has_tools: bool
    """True if it, or a section within it, has tools."""


def prepare(nodes: Iterable[Node]) -> tuple[Leaf, ...]:
    """The sections with their texts taken apart.

    Raises:
        PromptValidationError: where a text names what the params do not have.
    """
    return tuple(_leaf(node) for node in nodes)


def _leaf(node: Node) -> Leaf:
    kind, path = node.params_type, node.path
    children = prepare(node.children)
    return Leaf(
        path=path,
        section=node.section,
        params_type=kind,
        template=None if node.template is None else read_template(node.template, kind, path),
        summary=None if node.summary is None else read_template(node.summary, kind, path, "summary"),
        tools=node.tools,
        children=children,
        is_certain=node.section.enabled.function is None,
        has_tools=bool(node.tools) or any(child.has_tools for child in children),
    )


class Values:
    """What was bound, by type."""

    __slots__ = ("_bound", "_found")

    def __init__(self, bound: Mapping[type, object]) -> None:
        self._bound = bound
        self._found: dict[type, object] = dict(bound)

    def of(self, leaf: Leaf, needs: Sequence[str] = ()) -> object:
        """The params of a section: bound, or of a type that was bound, or made from defaults alone.

        Raises:
            PromptValidationError: where there are none.
        """
        kind = leaf.params_type
        if kind is None:
            return None
        if kind not in self._found:
            derived = [value for value in self._bound.values() if isinstance(value, kind)]
            self._found[kind] = derived[-1] if derived else _default(kind, leaf.path, needs)
        return self._found[kind]


def _default(kind: type, path: Path, needs: Sequence[str]) -> object:
    try:
        return kind()
    except Exception as error:
        wanted = (
            f", and its text needs {', '.join(f'${name}' for name in dict.fromkeys(needs))}" if needs else ""
        )
        problem = f"{kind.__name__} is not bound{wanted}"
        if not isinstance(error, TypeError | ValidationError):  # it lacks no value: it was made, and failed
            problem += f"; made from its defaults it fails: {type(error).__name__}: {error}"
        raise invalid(
            problem, path=path, fix=f"render what prompt.bind({kind.__name__}(...)) gives"
        ) from error


class Rendering:
    """One pass over the sections: what it writes, and what it finds on the way."""

    def __init__(self, values: Values, session: object, wanted: Mapping[Path, SectionVisibility]) -> None:
        self._values = values
        self._session = session
        self._wanted = wanted
        self.blocks: list[str] = []
        self.tools: list[AnyTool] = []
        self.visibility: dict[Path, SectionVisibility] = {}
        """How each section that is there is shown; those within a summary are not looked at."""
        self.owners: dict[str, Path] = {}
        """The section that each tool is in, hidden ones too."""

    def write_all(self, leaves: Iterable[Leaf], above: str = "") -> None:
        """Write sections and all within them, numbered."""
        number = 0
        for leaf in leaves:
            if not self.is_there(leaf):
                continue
            number += 1
            self.write(leaf, f"{above}{number}.", self.how(leaf))

    def write(self, leaf: Leaf, number: str, how: SectionVisibility) -> None:
        """Write one section at its number, and all within it."""
        self.visibility[leaf.path] = how
        self._claim(leaf)
        level = min(len(leaf.path) + 1, _DEEPEST_HEADING)
        heading = f"{'#' * level} {number} {leaf.section.title}"
        body = self._body(leaf) if how is _FULL else self._summary(leaf)
        self.blocks.append(f"{heading}\n\n{body}" if body else heading)
        if how is _FULL:
            self.tools += leaf.tools
            self.write_all(leaf.children, number)
        else:
            self._need(leaf)
            self._claim_hidden(leaf.children)

    def is_there(self, leaf: Leaf) -> bool:
        """True if the section is enabled."""
        asked = leaf.section.enabled
        params = self._values.of(leaf) if asked.takes_params else None
        return asked.of(params, self._session, leaf.path)

    def how(self, leaf: Leaf) -> SectionVisibility:
        """How a section is to be shown: as was asked for, else as it says itself."""
        asked = leaf.section.visibility
        wanted = self._wanted.get(leaf.path)
        if wanted is None:
            params = self._values.of(leaf) if asked.takes_params else None
            wanted = asked.of(params, self._session, leaf.path)
        if wanted is not _FULL and leaf.summary is None:
            raise invalid(
                "it cannot be summarised: it has no summary", path=leaf.path, fix="give summary='...'"
            )
        return wanted

    def _body(self, leaf: Leaf) -> str:
        if leaf.template is not None:
            return self._fill(leaf, leaf.template)
        params = self._values.of(leaf)
        try:
            text: object = leaf.section.body(params)
        except Exception as error:
            raise unevaluated(f"its body failed: {type(error).__name__}: {error}", path=leaf.path) from error
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is a user's
            raise unevaluated(f"its body gave {text!r:.60}, which is no text", path=leaf.path)
        return text.strip()

    def _summary(self, leaf: Leaf) -> str:
        key = dotted(leaf.path)
        opened = (
            "shows it in full and makes its tools available" if leaf.has_tools else "keeps it in full view"
        )
        hint = f'[Summary of section "{key}": read_section gives its text once; open_sections {opened}.]'
        return f"{self._fill(leaf, cast('Template', leaf.summary))}\n\n{hint}"

    def _fill(self, leaf: Leaf, template: Template) -> str:
        if not template.names:
            return template.fill(None, leaf.path)
        return template.fill(self._values.of(leaf, template.names), leaf.path)

    def _claim(self, leaf: Leaf) -> None:
        """Take the names of a section's tools, which no other may have.

        Raises:
            PromptValidationError: where another has one.
        """
        for tool in leaf.tools:
            owner = self.owners.setdefault(tool.name, leaf.path)
            if owner is not leaf.path:
                problem = f"tool {tool.name!r} is in section {dotted(owner)!r} already"
                raise invalid(
                    problem, path=leaf.path, fix="give each tool a name of its own, and one section"
                )
        names = [tool.name for tool in leaf.tools]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            problem = f"tool {twice!r} is in this section twice"
            raise invalid(problem, path=leaf.path, fix="give each tool a name of its own, and one section")

    def _claim_hidden(self, leaves: Iterable[Leaf]) -> None:
        """What is hidden now will be opened: a name that clashes then is better told now."""
        for leaf in leaves:
            if leaf.is_certain and self.is_there(leaf):
                self._need(leaf)
                self._claim(leaf)
                self._claim_hidden(leaf.children)

    def _need(self, leaf: Leaf) -> None:
        """What is hidden now needs its values when it is opened: better told now, too."""
        names = [name for part in (leaf.template, leaf.summary) if part is not None for name in part.names]
        if names:
            self._values.of(leaf, names)
