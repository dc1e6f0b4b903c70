"""Joins a tool's description, `when_to_use` and examples into one text, and splits such a text again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from pydantic_core import to_jsonable_python

from toolhaft.core.tool import Tool
from toolhaft.schema.json_text import read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import ValidArguments

_WHEN: Final = "\n\nWhen to use: "
_EXAMPLES: Final = "\n\nExamples:\n"


class DescriptionParts(NamedTuple):
    """The parts of a joined description."""

    description: str
    when_to_use: str | None
    examples: list[JSONObject]


def examples_of(tool: Tool[Any, Any]) -> list[JSONObject]:
    """The tool's examples as JSON, without empty fields, and with secrets masked."""
    found: list[JSONObject] = []
    for example in tool.examples:
        written: JSONObject = {"description": example.description} if example.description else {}
        written["input"] = cast("JSONValue", to_jsonable_python(example.input))
        if example.output is not None:
            written["output"] = cast("JSONValue", to_jsonable_python(example.output))
        found.append(written)
    return _without_secrets(tool, found) if found and tool.input_contract.may_hold_secrets else found


def _without_secrets(tool: Tool[Any, Any], examples: list[JSONObject]) -> list[JSONObject]:
    """The examples with secrets masked, without those that are not valid then."""
    from toolhaft.core.masking import SecretTexts, argument_mask  # noqa: PLC0415 -- few tools take secrets

    mask = argument_mask(tool)
    if mask is None:
        return examples
    found: list[JSONObject] = []
    for example in examples:
        given = example["input"] or {}
        texts = cast("JSONObject", SecretTexts(mask, [given]).value(example))
        masked: JSONObject = {**texts, "input": mask(given)}
        if masked["input"] == given or isinstance(tool.validate(masked["input"]), ValidArguments):
            found.append(masked)
    return found


def join_description(tool: Tool[Any, Any], examples: Sequence[JSONObject] = ()) -> str:
    """The description with `when_to_use` and the examples appended."""
    text = tool.description
    if tool.when_to_use:
        text += _WHEN + tool.when_to_use
    if examples:
        text += _EXAMPLES + "\n".join(to_json_text(example) for example in examples)
    return text


def fallback_description(name: str, title: object) -> str:
    """The description of an imported tool that has none: its title or name."""
    return title if isinstance(title, str) and title.strip() else name


def splits_back(tool: Tool[Any, Any], text: str) -> bool:
    """False for a description that already looks like a joined one."""
    words = split_description(text)
    return words.description == tool.description and words.when_to_use == (tool.when_to_use or None)


def split_description(text: str) -> DescriptionParts:
    """The parts of a joined description."""
    text, examples = _split_examples(text)
    head, mark, tail = text.rpartition(_WHEN)
    if mark and head.strip() and tail.strip():
        return DescriptionParts(head, tail, examples)
    return DescriptionParts(text, None, examples)


def _split_examples(text: str) -> tuple[str, list[JSONObject]]:
    head, mark, tail = text.rpartition(_EXAMPLES)
    if not mark:
        return text, []
    try:
        read = [read_json(line) for line in tail.split("\n")]
    except ValueError:
        return text, []
    examples = [example for example in read if isinstance(example, dict) and "input" in example]
    return (head, examples) if len(examples) == len(read) and head.strip() else (text, [])
