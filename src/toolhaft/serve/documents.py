"""The document of a tool as it travels: YAML as it is, or its fields as JSON.

Knows both forms; does not know who sends them, nor where they are kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from toolhaft import schema
from toolhaft.catalog.shelf import Published
from toolhaft.define.yaml import YamlTool, parse_tool, tool_fields
from toolhaft.define.yaml.text import write_mapping
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject
from toolhaft.serve.problems import Problem

JSON: Final = b"application/json"
YAML: Final = b"application/yaml"
_YAMLS: Final = frozenset((YAML, b"application/x-yaml"))


def is_yaml(media_type: bytes) -> bool:
    """True for the types that YAML goes by."""
    return media_type in _YAMLS


def wants_yaml(headers: Mapping[bytes, bytes], *, sent: bytes = JSON) -> bool:
    """True if the answer is to be YAML: it is asked for, or was sent and nothing else is asked for."""
    accepted = headers.get(b"accept", b"").lower()
    if b"yaml" in accepted:
        return True
    return is_yaml(sent) and JSON not in accepted


def read_tool_text(body: bytes, media_type: bytes) -> tuple[str, YamlTool[dict[str, object], object]]:
    """The YAML text of what was sent, and the tool that it defines.

    Raises:
        Problem: 400 for what is neither UTF-8 nor JSON where that was promised.
        DefinitionError: with everything that is wrong with it.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Problem(400, "the body is not UTF-8", fix="save it as UTF-8") from None
    if not is_yaml(media_type):
        return _from_json(text)
    return text, parse_tool(text)


def fields_of(published: Published) -> JSONObject:
    """What a published tool says, as JSON.

    Raises:
        Problem: 424 where its row says what this version does not take.
    """
    try:
        return tool_fields(published.tool)
    except DefinitionError as error:
        raise unreadable(published, error) from error


def unreadable(published: Published, error: DefinitionError) -> Problem:
    """The problem of a row that says what this version does not take."""
    return Problem(
        424,
        f"the tool {published.id!r} was stored by another version and cannot be read by this one",
        fix="publish it again",
        problems=str(error).splitlines(),
    )


def _from_json(text: str) -> tuple[str, YamlTool[dict[str, object], object]]:
    try:
        value = schema.read_json(text)
        json.loads(text, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:
        raise Problem(
            400, f"the body is not valid JSON: {error!s:.200}", fix="send the fields as one JSON object"
        ) from None
    if not isinstance(value, dict):
        raise Problem(400, "the body is no JSON object", fix="send the fields of the tool as one JSON object")
    tool = parse_tool(json.dumps(value, ensure_ascii=False, indent=1), "tool.json")
    return write_mapping(tool_fields(tool)), tool


def _no_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {cast('object', twin)!r:.80} is there twice")
    return made
