"""Overrides of texts and tool descriptions, and the parser of the value of an override file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Final

from toolhaft.core.example import ToolExample
from toolhaft.prompt.overrides.documents import FileProblems
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import show

FILE_FIELDS: Final = ("prompt", "sections", "tools")
SECTION_FIELDS: Final = ("digest", "text", "summary")
TOOL_FIELDS: Final = ("digest", "description", "parameters", "examples")
EXAMPLE_FIELDS: Final = ("description", "input", "output")
DIGEST_DIGITS: Final = 16
"""The hexadecimal digits of a digest."""
_DIGEST: Final = re.compile(rf"[0-9a-f]{{{DIGEST_DIGITS}}}")
_NEVER: Final = "names and types are never overridden"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOverride:
    """New texts of one section; None keeps the text in the code."""

    digest: str
    """The digest of the section that it was written for: see `section_digest`."""
    text: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """New descriptions and examples of one tool; None, or a parameter not named, keeps those in the code."""

    digest: str
    """The digest of the tool that it was written for: see `tool_digest`."""
    description: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """Descriptions by parameter name."""
    examples: tuple[ToolExample[object, object], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The content of one override file."""

    file: str
    """Its path, as the caller wrote the folder."""
    sections: Mapping[str, SectionOverride] = field(default_factory=dict[str, SectionOverride])
    """By the dotted path of the section."""
    tools: Mapping[str, ToolOverride] = field(default_factory=dict[str, ToolOverride])
    """By the name of the tool."""


def parse_overrides(value: JSONValue, *, file: str, prompt: str) -> Overrides:
    """The overrides in the value of a file, for the prompt of this name.

    Raises:
        PromptValidationError: with every problem of the file.
    """
    problems = FileProblems(file)
    overrides = _Parser(problems).file(value, file, prompt)
    problems.raise_if_any()
    return overrides


class _Parser:
    """Parses field by field, and collects every problem."""

    def __init__(self, problems: FileProblems) -> None:
        self._problems = problems

    def file(self, value: JSONValue, name: str, prompt: str) -> Overrides:
        root = self._mapping("", value, "prompt: ..., sections: ... and tools: ...")
        self._refuse_unknown("", root, FILE_FIELDS)
        named = root.get("prompt", prompt)
        if named != prompt:
            problem = f"it is for the prompt {show(named)}, but its path is that of {show(prompt)}"
            self._problems.add("prompt", problem, "move the file, or correct the name")
        sections = self._mapping("sections", root.get("sections"), "dotted.path: {digest: ..., text: ...}")
        tools = self._mapping("tools", root.get("tools"), "name: {digest: ..., description: ...}")
        return Overrides(
            file=name,
            sections={path: self._section(path, entry) for path, entry in sections.items()},
            tools={name: self._tool(name, entry) for name, entry in tools.items()},
        )

    def _section(self, path: str, value: JSONValue) -> SectionOverride:
        place = f"section {show(path)}"
        entry = self._entry(place, value, "{digest: ..., text: ..., summary: ...}", SECTION_FIELDS)
        text = self._text(f"{place}, text", entry.get("text"), may_be_empty=True)
        summary = self._text(f"{place}, summary", entry.get("summary"))
        return SectionOverride(
            digest=self._digest(place, entry),
            text=None if text is None else dedent(text).strip(),
            summary=None if summary is None else dedent(summary).strip(),
        )

    def _tool(self, name: str, value: JSONValue) -> ToolOverride:
        place = f"tool {show(name)}"
        entry = self._entry(place, value, "{digest: ..., description: ...}", TOOL_FIELDS)
        given = self._mapping(
            f"{place}, parameters", entry.get("parameters"), "name: description", f"; {_NEVER}"
        )
        descriptions = {
            parameter: self._text(f"{place}, parameter {show(parameter)}", text, note=f"; {_NEVER}")
            for parameter, text in given.items()
        }
        return ToolOverride(
            digest=self._digest(place, entry),
            description=self._text(f"{place}, description", entry.get("description")),
            parameters={parameter: text for parameter, text in descriptions.items() if text is not None},
            examples=self._examples(place, entry.get("examples")),
        )

    def _examples(self, place: str, value: JSONValue) -> tuple[ToolExample[object, object], ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            fix = "write a list of {description: ..., input: ..., output: ...}"
            self._problems.add(f"{place}, examples", f"it must be a list, not {show(value)}", fix)
            return None
        read = [self._example(f"{place}, example {number}", one) for number, one in enumerate(value, 1)]
        return tuple(example for example in read if example is not None)

    def _example(self, place: str, value: JSONValue) -> ToolExample[object, object] | None:
        if not isinstance(value, dict):
            self._mapping(place, value or "", "{description: ..., input: ..., output: ...}")
            return None
        fields = value
        self._refuse_unknown(place, fields, EXAMPLE_FIELDS)
        description = self._text(f"{place}, description", fields.get("description"), may_be_empty=True)
        if "input" not in fields:
            self._problems.add(place, "'input' is missing", "add input: {...}, the arguments of the call")
            return None
        return ToolExample(description=description or "", input=fields["input"], output=fields.get("output"))

    def _digest(self, place: str, entry: JSONObject) -> str:
        given = entry.get("digest")
        if given is None:
            fix = "OverrideStore.seed writes a file with every digest"
            self._problems.add(place, "the digest of what it replaces is missing", fix)
        elif not isinstance(given, str):
            self._problems.add(f"{place}, digest", f"it must be text, not {show(given)}", "put it in quotes")
        elif not _DIGEST.fullmatch(given):
            fix = f"write the {DIGEST_DIGITS} hexadecimal digits, in small letters and in quotes"
            self._problems.add(f"{place}, digest", f"{show(given)} is not a digest", fix)
        else:
            return given
        return ""

    def _text(
        self, place: str, value: JSONValue, *, may_be_empty: bool = False, note: str = ""
    ) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            fix = f"write the text, in quotes, or leave it out{note}"
            self._problems.add(place, f"it must be text, not {show(value)}", fix)
            return None
        if not value.strip() and not may_be_empty:
            self._problems.add(
                place, "it is empty", "write the text, or leave it out to keep the one in the code"
            )
        return value

    def _entry(self, place: str, value: JSONValue, shape: str, fields: Iterable[str]) -> JSONObject:
        if value is not None and not isinstance(value, dict):
            self._mapping(place, value, shape)
            return {"digest": "0" * DIGEST_DIGITS}  # no second error about a missing digest
        entry = value or {}
        self._refuse_unknown(place, entry, fields)
        return entry

    def _mapping(self, place: str, value: JSONValue, shape: str, note: str = "") -> JSONObject:
        if isinstance(value, dict):
            return value
        if value is not None or not place:
            problem = f"it must be a mapping, not {show(value)}"
            self._problems.add(place, problem, f"write {shape}{note}")
        return {}

    def _refuse_unknown(self, place: str, entry: JSONObject, fields: Iterable[str]) -> None:
        for key in entry:
            if key not in fields:
                close = nearest(key, fields)
                hint = f"did you mean {close!r}? " if close else ""
                fix = f"{hint}only {', '.join(fields)} can be given; {_NEVER}"
                self._problems.add(place, f"{show(key)} cannot be overridden", fix)
