"""Reads the value of a file as overrides, and tells all that is wrong with it.

Knows the fields that a file may have; does not know files, nor the prompt that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import dedent
from typing import Final

from toolhaft.core.example import ToolExample
from toolhaft.prompt.overrides.digests import DIGITS
from toolhaft.prompt.overrides.findings import Findings
from toolhaft.prompt.overrides.override import Overrides, SectionOverride, ToolOverride
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import show

FILE_FIELDS: Final = ("prompt", "sections", "tools")
SECTION_FIELDS: Final = ("digest", "text", "summary")
TOOL_FIELDS: Final = ("digest", "description", "parameters", "examples")
EXAMPLE_FIELDS: Final = ("description", "input", "output")
_DIGEST: Final = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
_NEVER: Final = "names and types are never overridden"


def read_overrides(value: JSONValue, *, file: str, prompt: str) -> Overrides:
    """The overrides that a file's value says, for the prompt of this name.

    Raises:
        PromptValidationError: with every problem of the file.
    """
    reader = _Reader(Findings(file))
    made = reader.file(value, file, prompt)
    reader.found.settle()
    return made


class _Reader:
    """Reads field by field, and keeps every problem."""

    def __init__(self, found: Findings) -> None:
        self.found = found

    def file(self, value: JSONValue, name: str, prompt: str) -> Overrides:
        root = self._mapping("", value, "prompt: ..., sections: ... and tools: ...")
        self._refuse_others("", root, FILE_FIELDS)
        named = root.get("prompt", prompt)
        if named != prompt:
            problem = (
                f"it is written for the prompt {show(named)}, and stands where {show(prompt)} has its own"
            )
            self.found.add("prompt", problem, "move the file, or mend the name")
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
        words = self._mapping(
            f"{place}, parameters", entry.get("parameters"), "name: description", f"; {_NEVER}"
        )
        told = {
            parameter: self._text(f"{place}, parameter {show(parameter)}", word, aside=f"; {_NEVER}")
            for parameter, word in words.items()
        }
        return ToolOverride(
            digest=self._digest(place, entry),
            description=self._text(f"{place}, description", entry.get("description")),
            parameters={parameter: word for parameter, word in told.items() if word is not None},
            examples=self._examples(place, entry.get("examples")),
        )

    def _examples(self, place: str, value: JSONValue) -> tuple[ToolExample[object, object], ...] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            fix = "write a list of {description: ..., input: ..., output: ...}"
            self.found.add(f"{place}, examples", f"it must be a list, not {show(value)}", fix)
            return None
        read = [self._example(f"{place}, example {number}", one) for number, one in enumerate(value, 1)]
        return tuple(example for example in read if example is not None)

    def _example(self, place: str, value: JSONValue) -> ToolExample[object, object] | None:
        if not isinstance(value, dict):
            self._mapping(place, value or "", "{description: ..., input: ..., output: ...}")
            return None
        fields = value
        self._refuse_others(place, fields, EXAMPLE_FIELDS)
        description = self._text(f"{place}, description", fields.get("description"), may_be_empty=True)
        if "input" not in fields:
            self.found.add(place, "'input' is missing", "add input: {...}, the arguments of the call")
            return None
        return ToolExample(description=description or "", input=fields["input"], output=fields.get("output"))

    def _digest(self, place: str, entry: JSONObject) -> str:
        given = entry.get("digest")
        if given is None:
            fix = "OverrideStore.seed writes a file with every digest, and a stale one is told with the new"
            self.found.add(place, "the digest of what it replaces is missing", fix)
        elif not isinstance(given, str):
            self.found.add(f"{place}, digest", f"it must be text, not {show(given)}", "put it in quotes")
        elif not _DIGEST.fullmatch(given):
            fix = f"write the {DIGITS} hexadecimal digits, in small letters and in quotes"
            self.found.add(f"{place}, digest", f"{show(given)} is not a digest", fix)
        else:
            return given
        return ""

    def _text(
        self, place: str, value: JSONValue, *, may_be_empty: bool = False, aside: str = ""
    ) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            fix = f"write the text, in quotes, or leave it out{aside}"
            self.found.add(place, f"it must be text, not {show(value)}", fix)
            return None
        if not value.strip() and not may_be_empty:
            self.found.add(
                place, "it is empty", "write the text, or leave it out to keep the one in the code"
            )
        return value

    def _entry(self, place: str, value: JSONValue, shape: str, fields: Iterable[str]) -> JSONObject:
        if value is not None and not isinstance(value, dict):
            self._mapping(place, value, shape)
            return {"digest": "0" * DIGITS}  # what is no entry is not told to have no digest either
        entry = value or {}
        self._refuse_others(place, entry, fields)
        return entry

    def _mapping(self, place: str, value: JSONValue, shape: str, aside: str = "") -> JSONObject:
        if isinstance(value, dict):
            return value
        if value is not None or not place:
            problem = f"it must be a mapping, not {show(value)}"
            self.found.add(place, problem, f"write {shape}{aside}")
        return {}

    def _refuse_others(self, place: str, entry: JSONObject, fields: Iterable[str]) -> None:
        for key in entry:
            if key not in fields:
                close = nearest(key, fields)
                hint = f"did you mean {close!r}? " if close else ""
                fix = f"{hint}only {', '.join(fields)} can be given; {_NEVER}"
                self.found.add(place, f"{show(key)} cannot be overridden", fix)
