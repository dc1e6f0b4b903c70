"""Finds what a file hides from its reader, or what it probably does not mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import urlsplit

from toolhaft.define.yaml.document import YamlNode
from toolhaft.define.yaml.events import YamlProblem
from toolhaft.resources.http.metadata_hosts import is_metadata_host
from toolhaft.schema.invisible import InvisibleCharacter, invisible_characters
from toolhaft.schema.json_value import JSONObject, ValuePath
from toolhaft.schema.problems import render_path

PARAMETER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
NAME_FIX: Final = "use letters, digits, '_', '.' and '-', a letter or '_' first"
_PLACEHOLDER: Final = re.compile(r"\$?\{[^{}]*\}")
_MAX_REPORTED: Final = 20
_NOT_FOR_MODELS: Final = re.compile(r"(?:the key )?run\b")
"""The `run` block: the reader of the file sees its escapes, and no model reads it."""


def invisible_problems(text: str, root: YamlNode) -> list[YamlProblem]:
    """Return the invisible characters of a file: errors in keys and values, warnings in comments."""
    written = list(invisible_characters(text.removeprefix("\ufeff")))
    if not written and "\\" not in text:  # only an escape can add one
        return []
    shift = len(text) - len(text.removeprefix("\ufeff"))
    scan = _Scan(text)
    scan.node(root, ())
    comments = (found._replace(at=found.at + shift) for found in written)
    scan.problems += [
        _problem(*_position(text, found.at), "a comment", found, level="warning")
        for found in comments
        if not scan.covers(found.at)
    ]
    return scan.problems[:_MAX_REPORTED]


class _Scan:
    """Collects the invisible characters in the keys and values of a document."""

    def __init__(self, text: str) -> None:
        self.problems: list[YamlProblem] = []
        self._text = text
        self._spans: list[tuple[int, int]] = []
        self._seen: set[tuple[int, int]] = set()

    def covers(self, index: int) -> bool:
        """True if the character at an index of the text is part of a key or value."""
        return any(start <= index < end for start, end in self._spans)

    def node(self, node: YamlNode, path: ValuePath) -> None:
        """Collect those of one node."""
        if isinstance(node.value, str):
            self._text_at(node.value, (node.start, node.end), (node.line, node.column + 1), render_path(path))
        elif isinstance(node.value, list):
            for number, item in enumerate(node.value):
                self.node(item, (*path, number))
        elif isinstance(node.value, dict):
            for key, entry in node.value.items():
                if not entry.is_merged:
                    start = _line_start(self._text, entry.line)
                    end = max(self._text.find(":", start), entry.node.start)
                    place = f"the key {render_path((*path, key))}"
                    self._text_at(key, (start, end), (entry.line, 1), place)
                self.node(entry.node, (*path, key))

    def _text_at(self, value: str, span: tuple[int, int], position: tuple[int, int], place: str) -> None:
        start, end = span
        self._spans.append(span)
        index = start
        for found in invisible_characters(value):
            at = self._text.find(found.character, index, end)
            if at < 0 and _NOT_FOR_MODELS.match(place):
                continue
            if at >= 0:
                index, position = at + 1, _position(self._text, at)
            if (start, found.at) not in self._seen:  # an alias repeats its anchor
                self._seen.add((start, found.at))
                self.problems.append(_problem(*position, place, found))


def _problem(
    line: int, column: int, place: str, found: InvisibleCharacter, level: str = "error"
) -> YamlProblem:
    return YamlProblem(
        line=line,
        what=f"{place} has an invisible character at column {column}: {found.name}",
        fix="take it out: people do not see it",
        level="error" if level == "error" else "warning",
    )


def _line_start(text: str, line: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start


def _position(text: str, index: int) -> tuple[int, int]:
    """Return the line and column of an index, both counted from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def suspicious_parts(
    fields: Mapping[str, object], hosts: tuple[str, ...], schema: JSONObject, lines: Mapping[str, int]
) -> Iterator[YamlProblem]:
    """Yield warnings about addresses, placeholders that nothing replaces, and names of parameters."""
    endpoint = fields.get("endpoint")
    if isinstance(endpoint, str):
        yield from _endpoint_warnings(endpoint, lines["endpoint"])
    for host in hosts:
        name = host.rpartition(":")[0]
        if "run" in lines and is_metadata_host(name):
            yield _metadata_warning("run", name, lines["run"])
    for name in cast("JSONObject", schema.get("properties", {})):
        if not PARAMETER_NAME.fullmatch(name):
            yield YamlProblem(
                line=lines.get("parameters", 1),
                what=wrong_name(name),
                fix=NAME_FIX,
                level="warning",
            )


def wrong_name(name: str) -> str:
    """Say what is wrong with the name of a parameter."""
    return f"the parameter name {name!a:.80} has characters that some providers refuse"


def _endpoint_warnings(endpoint: str, line: int) -> Iterator[YamlProblem]:
    found = _PLACEHOLDER.search(endpoint)
    if found is not None:
        yield YamlProblem(
            line=line,
            what=f"nothing replaces the placeholder {found[0]:.60} in the endpoint",
            fix="write the whole URL, or use run: {http: {url: ...}}, which has placeholders",
            level="warning",
        )
    host = urlsplit(endpoint).hostname or ""
    if is_metadata_host(host):
        yield _metadata_warning("endpoint", host, line)


def _metadata_warning(field: str, host: str, line: int) -> YamlProblem:
    return YamlProblem(
        line=line,
        what=f"the {field} leads to {host!a:.80}, an address of this machine's network or of the metadata "
        "service of a cloud, which gives out credentials",
        fix="name a public host",
        level="warning",
    )
