"""Overrides as YAML: read as safely as tools are, and written.

Needs the extra `yaml`; imported only where a YAML file is met.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhaft.define.yaml.document import plain, read_document
from toolhaft.define.yaml.text import write_mapping
from toolhaft.prompt.overrides.findings import Findings
from toolhaft.schema.json_value import JSONValue

_OWN_FIXES: Final = {
    "the file is empty": "write prompt: ..., sections: ... and tools: ..., or remove the file",
    "a second document starts here": "keep one prompt in one file",
}
"""Where the reader's own advice speaks of tools."""


def read_yaml(text: str, file: str) -> JSONValue:
    """The value of a YAML text.

    Raises:
        PromptValidationError: with every flaw, and its line.
    """
    root, flaws = read_document(text)
    found = Findings(file)
    for flaw in sorted(flaws, key=lambda flaw: flaw.line):
        found.add(f"line {flaw.line}", flaw.what, _OWN_FIXES.get(flaw.what, flaw.fix))
    found.settle()
    return None if root is None else plain(root)


def write_yaml(values: Mapping[str, JSONValue]) -> str:
    """Values as a YAML document."""
    return write_mapping(values)
