"""The value that a file's bytes say, whether in JSON or in YAML, and the text that says a value.

Knows the two languages and their limits; does not know what the values mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from toolhaft.prompt.overrides.findings import Findings, refuse
from toolhaft.schema.json_text import endless, has_repeated_key, read_json, repeated_keys
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import render_path

Format: TypeAlias = Literal["json", "yaml"]

LARGEST_FILE: Final = 1_000_000
"""Bytes, as for tools in YAML."""
ENDINGS: Final = (".json", ".yaml", ".yml")
_NO_YAML: Final = "YAML needs ruamel.yaml"
_INSTALL: Final = "pip install 'toolhaft[yaml]', or use JSON"


def read_document(data: bytes, file: str) -> JSONValue:
    """The value of a file, in the language that its name ends with.

    Raises:
        PromptValidationError: for what is too large, not of that language, or gives a key twice.
    """
    if len(data) > LARGEST_FILE:
        raise refuse(file, "the file is larger than 1 MB", f"keep it within {LARGEST_FILE:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refuse(file, f"line {line}: the text is not UTF-8", "save the file as UTF-8") from error
    if file.endswith(".json"):
        return _read_json(text, file)
    try:
        from toolhaft.prompt.overrides import by_yaml  # noqa: PLC0415 -- its package may be missing
    except ImportError as error:
        raise refuse(file, _NO_YAML, _INSTALL) from error
    return by_yaml.read_yaml(text, file)


def write_document(values: Mapping[str, JSONValue], file: str) -> str:
    """The text of a file, in the language that its name ends with.

    Raises:
        PromptValidationError: where that language cannot be written here.
    """
    if file.endswith(".json"):
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    try:
        from toolhaft.prompt.overrides import by_yaml  # noqa: PLC0415 -- its package may be missing
    except ImportError as error:
        raise refuse(file, _NO_YAML, _INSTALL) from error
    return by_yaml.write_yaml(values)


def _read_json(text: str, file: str) -> JSONValue:
    try:
        value = read_json(text)
        twice = repeated_keys(text) if has_repeated_key(text, value) else []
    except ValueError as error:
        fix = "check the quotes, commas and brackets there; JSON has no comments"
        raise refuse(file, f"this is not JSON: {error!s:.200}", fix) from error
    found = Findings(file)
    for path in twice:
        found.add(render_path(path), "the key is given twice", "keep one of the two")
    for path in endless(value):
        found.add(render_path(path), "the number has no finite value", "give a finite number, or quote it")
    found.settle()
    return value
