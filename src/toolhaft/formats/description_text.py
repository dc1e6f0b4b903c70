"""Joins a tool's description, `when_to_use`, result and examples into one text; splits such a text again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pydantic_core import to_jsonable_python

from toolhaft.core.example import ToolExample
from toolhaft.core.options import metadata_options
from toolhaft.core.tool import Tool
from toolhaft.schema.docstrings import RETURNS_MARK
from toolhaft.schema.json_text import read_json, to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.problems import ValidArguments

_Example: TypeAlias = ToolExample[object, object]
_WHEN: Final = "\n\nWhen to use: "
_EXAMPLES: Final = "\n\nExamples:\n"
_LONGEST_MEMBERS: Final = 500


class DescriptionParts(NamedTuple):
    """The parts of a joined description."""

    description: str
    when_to_use: str | None
    returns: str | None
    examples: list[JSONObject]


def examples_of(tool: Tool[Any, Any]) -> list[JSONObject]:
    """The tool's examples as JSON, without empty fields, and with secrets masked."""
    found = _written(tool.examples)
    return _without_secrets(tool, found) if found and tool.input_contract.may_hold_secrets else found


def metadata_of(tool: Tool[Any, Any]) -> Mapping[str, Any]:
    """The tool's metadata, with the secrets in its examples masked."""
    if "examples" not in tool.metadata or not tool.input_contract.may_hold_secrets:
        return tool.metadata
    found = _written(cast("Sequence[_Example]", metadata_options(tool.metadata).get("examples", ())))
    masked = _without_secrets(tool, found)
    return tool.metadata if masked == found else {**tool.metadata, "examples": masked}


def _written(examples: Iterable[_Example]) -> list[JSONObject]:
    found: list[JSONObject] = []
    for example in examples:
        written: JSONObject = {"description": example.description} if example.description else {}
        written["input"] = cast("JSONValue", to_jsonable_python(example.input))
        if example.output is not None:
            written["output"] = cast("JSONValue", to_jsonable_python(example.output))
        found.append(written)
    return found


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


def returns_of(tool: Tool[Any, Any]) -> str:
    """The description of what the tool returns; empty if there is none."""
    output = cast("JSONValue", tool.output_schema)
    return _description(output) if isinstance(output, dict) else ""


def returns_with_members(tool: Tool[Any, Any]) -> str:
    """The description of what the tool returns; else those of its members, if all have one and are short."""
    own = returns_of(tool)
    output = cast("JSONValue", tool.output_schema)
    members = output.get("properties") if isinstance(output, dict) else None
    if own or not isinstance(members, dict):
        return own
    texts = {name: _description(schema) for name, schema in members.items() if isinstance(schema, dict)}
    if len(texts) < len(members) or not all(texts.values()):
        return ""
    joined = "; ".join(f"{name}: {' '.join(text.split())}" for name, text in texts.items())
    return joined if len(joined) <= _LONGEST_MEMBERS else ""


def _description(schema: JSONObject) -> str:
    text = schema.get("description")
    return text if isinstance(text, str) and text.strip() else ""


def is_only_described(output: object) -> bool:
    """True for an output schema with nothing but a description, as the import of a joined text has it."""
    return isinstance(output, dict) and list(cast("JSONObject", output)) == ["description"]


def join_description(tool: Tool[Any, Any], returns: str = "", examples: Sequence[JSONObject] = ()) -> str:
    """The description with `when_to_use`, what the tool returns and the examples appended."""
    text, own = (
        _split_end(tool.description, RETURNS_MARK) if tool.output_schema is None else (tool.description, None)
    )
    returns = returns or own or ""
    if tool.when_to_use:
        text += _WHEN + tool.when_to_use
    if returns:
        text += RETURNS_MARK + returns
    if examples:
        text += _EXAMPLES + "\n".join(to_json_text(example) for example in examples)
    return text


def description_with_result(tool: Tool[Any, Any]) -> str:
    """The description with that of the result, for a file, which has no field for a result as a whole."""
    returns = returns_of(tool)
    return f"{tool.description}{RETURNS_MARK}{returns}" if returns else tool.description


def fallback_description(name: str, title: object) -> str:
    """The description of an imported tool that has none: its title or name."""
    return title if isinstance(title, str) and title.strip() else name


def splits_back(tool: Tool[Any, Any], text: str, returns: str, *, has_output: bool) -> bool:
    """False for a description that already looks like a joined one.

    One that ends with what the tool returns, in these words, is the same text again after the next export.
    """
    words = split_description(text, has_output=has_output)
    if words.returns is not None and not returns:
        words = words._replace(description=f"{words.description}{RETURNS_MARK}{words.returns}", returns=None)
    return words[:3] == (tool.description, tool.when_to_use or None, returns or None)


def split_description(text: str, *, has_output: bool) -> DescriptionParts:
    """The parts of a joined description; with an output schema, what the tool returns is not among them."""
    text, examples = _split_examples(text)
    text, returns = (text, None) if has_output else _split_end(text, RETURNS_MARK)
    text, when_to_use = _split_end(text, _WHEN)
    return DescriptionParts(text, when_to_use, returns, examples)


def _split_end(text: str, mark: str) -> tuple[str, str | None]:
    head, found, tail = text.rpartition(mark)
    return (head, tail) if found and head.strip() and tail.strip() else (text, None)


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
