"""Applies overrides to a prompt's sections and tools, and computes the digests that guard them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from hashlib import sha256
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError, PromptValidationError
from toolhaft.prompt.overrides.documents import FileProblems
from toolhaft.prompt.overrides.parse import DIGEST_DIGITS, Overrides, SectionOverride, ToolOverride
from toolhaft.prompt.problems import SectionPath, dotted_path
from toolhaft.prompt.templates import parse_template
from toolhaft.prompt.tree import SectionNode
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import show

_MAX_LISTED: Final = 12


def apply_overrides(nodes: tuple[SectionNode, ...], overrides: Overrides) -> tuple[SectionNode, ...]:
    """The sections with their overrides; a section without overrides stays the same object.

    If several sections have a tool of the same name, the override applies to each with its digest.

    Raises:
        PromptValidationError: with every override that cannot be applied.
    """
    problems = FileProblems(overrides.file)
    checker = _Checker(problems=problems, nodes=[node for root in nodes for node in root.walk()])
    texts = checker.check_sections(overrides.sections)
    tools = checker.change_tools(overrides.tools)
    problems.raise_if_any()
    return tuple(_rebuild(node, texts, tools) for node in nodes)


_SectionOverrides = Mapping[SectionPath, SectionOverride]
_Tools = Mapping[int, AnyTool]
"""The changed tools, by the identity of the original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checker:
    problems: FileProblems
    nodes: list[SectionNode]

    def check_sections(self, wanted: Mapping[str, SectionOverride]) -> _SectionOverrides:
        """The valid overrides of sections, by path."""
        known = {dotted_path(node.path): node for node in self.nodes}
        valid: dict[SectionPath, SectionOverride] = {}
        for key, override in wanted.items():
            place, node = f"section {show(key)}", known.get(key)
            if node is None:
                self.problems.add(place, "there is no such section", _hint(key, known))
            elif not node.section.accepts_overrides:
                fix = "remove the override, or set accepts_overrides=True in the code"
                self.problems.add(place, "the section does not accept overrides", fix, node.path)
            elif override.digest != section_digest(node):
                now = section_digest(node)
                self.problems.add(place, *_stale("section", override.digest, now), node.path)
            else:
                self._check_texts(place, node, override)
                valid[node.path] = override
        return valid

    def _check_texts(self, place: str, node: SectionNode, override: SectionOverride) -> None:
        if override.text is not None and node.template is None:
            fix = "remove 'text'; the code makes the text at each rendering"
            self.problems.add(place, "its text is made in code", fix, node.path)
        if override.summary is not None and node.summary is None:
            fix = "remove 'summary', or give the section one in the code"
            self.problems.add(place, "the section has no summary", fix, node.path)
        for name, text in (("text", override.text), ("summary", override.summary)):
            try:
                parse_template(text or "", node.params_type, (), name)
            except PromptValidationError as error:  # a `$name` that the params do not have
                self.problems.add(place, str(error), "", node.path)

    def change_tools(self, wanted: Mapping[str, ToolOverride]) -> _Tools:
        """The tools with their new descriptions and examples."""
        known: dict[str, list[tuple[SectionNode, AnyTool]]] = {}
        for node in self.nodes:
            for tool in node.tools:
                known.setdefault(tool.name, []).append((node, tool))
        made: dict[int, AnyTool] = {}
        for name, override in wanted.items():
            place, holders = f"tool {show(name)}", known.get(name)
            if holders is None:
                self.problems.add(place, "no section has such a tool", _hint(name, known))
                continue
            for node, tool in self._with_digest(place, holders, override):
                made[id(tool)] = self._change_tool(place, node, tool, override)
        return made

    def _with_digest(
        self, place: str, holders: list[tuple[SectionNode, AnyTool]], override: ToolOverride
    ) -> list[tuple[SectionNode, AnyTool]]:
        """The tools that have the digest of the override; reports a problem if there are none."""
        node, tool = next(((node, tool) for node, tool in holders if not tool.accepts_overrides), holders[0])
        if not tool.accepts_overrides:
            fix = "remove the override, or set accepts_overrides=True in the code"
            self.problems.add(place, "the tool does not accept overrides", fix, node.path)
            return []
        valid = [(node, tool) for node, tool in holders if tool_digest(tool) == override.digest]
        if not valid:
            self.problems.add(place, *_stale("tool", override.digest, tool_digest(tool)), node.path)
        return valid

    def _change_tool(self, place: str, node: SectionNode, tool: AnyTool, override: ToolOverride) -> AnyTool:
        try:
            return tool.with_words(
                description=override.description,
                parameters=override.parameters,
                examples=override.examples,
            )
        except DefinitionError as combined:
            for error in list(_single_problems(tool, override)) or [combined]:
                self.problems.add(f"{place}, {error.place}", error.problem, error.fix, node.path)
            return tool


def _single_problems(tool: AnyTool, override: ToolOverride) -> Iterator[DefinitionError]:
    """The problems of an override, each field applied alone."""
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
            if number >= first_example:  # tried alone, every example is number 1
                place = f"example {number - first_example + 1}"
            yield DefinitionError(error.problem, place=place, fix=error.fix or "fix it, or leave it out")


def _stale(kind: str, old: str, new: str) -> tuple[str, str]:
    problem = f"it was written for digest {old}, and the {kind} has changed since: its digest is now {new}"
    return (
        problem,
        f"compare it with the {kind} in the code, then set digest: {new!r}, or remove the override",
    )


def _hint(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = nearest(name, names)
    if close:
        return f"did you mean {close!r}?"
    listed = ", ".join(names[:_MAX_LISTED])
    return f"there are: {listed}" if listed else "there are none; remove the override"


def _rebuild(node: SectionNode, texts: _SectionOverrides, tools: _Tools) -> SectionNode:
    override = texts.get(node.path)
    children = tuple(_rebuild(child, texts, tools) for child in node.children)
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


def section_digest(node: SectionNode) -> str:
    """The digest of a section's text and summary as written in the code."""
    return _digest({"section": {"template": node.template, "summary": node.summary}})


def tool_digest(tool: AnyTool) -> str:
    """The digest of a tool's name, description, schemas and examples."""
    examples = [
        [example.description, _safe_json(example.input), _safe_json(example.output)]
        for example in tool.examples
    ]
    contract = {
        "name": tool.name,
        "description": tool.description,
        "input": _to_json(tool.input_schema),
        "output": _to_json(tool.output_schema),
        "examples": examples,
    }
    return _digest({"tool": contract})


def _digest(contract: dict[str, object]) -> str:
    return sha256(_text(contract).encode()).hexdigest()[:DIGEST_DIGITS]


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _safe_json(value: object) -> JSONValue:
    try:
        return _to_json(value)
    except RecursionError:  # a value that contains itself
        return _kind(value)


def _to_json(value: Any) -> JSONValue:  # noqa: ANN401 -- an example may contain anything
    """A value as JSON, with sets sorted: their order differs between processes."""
    if isinstance(value, Enum):
        return _to_json(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(_to_json(key)): _to_json(member) for key, member in members.items()}
    if isinstance(value, list | tuple):
        return [_to_json(member) for member in cast("list[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted((_to_json(member) for member in cast("set[object]", value)), key=_text)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
    dump = getattr(value, "model_dump", None)  # a Pydantic model, which keeps sets
    return _other_to_json(value) if dump is None else _to_json(dump())


def _other_to_json(value: object) -> JSONValue:
    """A date, a path, a Decimal, as Pydantic writes it."""
    try:
        return cast("JSONValue", to_jsonable_python(value, fallback=_kind))
    except (PydanticSerializationError, ValueError):  # bytes that are not UTF-8
        return _kind(value)


def _kind(value: object) -> str:
    # not its repr, which may contain a memory address
    return f"<{type(value).__module__}.{type(value).__qualname__}>"
