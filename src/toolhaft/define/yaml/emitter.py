"""Writes YAML text: a whole mapping, or changed values in a text that otherwise stays the same.

Strings are written as in JSON, which YAML 1.2 can read.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE
from types import EllipsisType
from typing import Final, cast

from toolhaft.define.yaml.document import YamlEntry, YamlNode
from toolhaft.schema.json_value import JSONValue

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED: Final = frozenset(("null", "true", "false"))
_NOT_ASCII: Final = re.compile(r"[^ -~]")
_COMMENT: Final = re.compile(r"[ \t]+#.*")
_BLANK: Final = re.compile(r"[ \t]*")
_COMMA_AFTER: Final = re.compile(r"\s*,[ \t]*")
_COMMA_BEFORE: Final = re.compile(r",\s*$")
_KEEPS_LINES: Final = re.compile(r"[|>][0-9]?\+")
_WIDEST_ESCAPE: Final = 0xFFFF

Patch = tuple[int, int, str]


def write_mapping(values: Mapping[str, JSONValue], indent: str = "") -> str:
    """Write a mapping as a block, one key per line."""
    return "".join(f"{indent}{_key(key)}:{_after_key(value, indent)}\n" for key, value in values.items())


def write_flow(value: JSONValue) -> str:
    """Write a value on one line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _NOT_ASCII.sub(_escape, text)


def change_text(
    text: str, root: YamlNode, changes: Mapping[str, JSONValue | EllipsisType], order: Sequence[str]
) -> str:
    """Change values in the text of a mapping; a new key is added after its predecessor in `order`.

    `...` takes a key out; a comment behind its value stays.
    """
    everything = cast("dict[str, YamlEntry]", root.value)
    own = {key: entry.node for key, entry in everything.items() if not entry.is_merged}
    patches = [
        _removal(text, root, key, own[key])
        if isinstance(value, EllipsisType)
        else _replacement(text, root, own[key], value)
        for key, value in changes.items()
        if key in own
    ]
    after: int | None = None
    for key in order:
        if key in own:
            after = after if _is_open_ended(text, own[key]) else own[key].end
        elif not isinstance(value := changes.get(key, ...), EllipsisType):
            patches.append(_addition(text, root, after, {key: value}))
    found = _BREAK.search(text)
    # a stable sort: additions at one position stay in order, after the replacement there
    for start, end, new in sorted(patches, key=lambda patch: patch[:2])[::-1]:
        text = text[:start] + new.replace("\n", found[0] if found else "\n") + text[end:]
    return text


def write_file(path: str, text: str) -> None:
    """Write a file atomically: a concurrent reader gets the old text or the new one.

    Raises:
        OSError: if the folder is missing, cannot be written, or the disk is full.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            draft.chmod(S_IMODE(target.stat().st_mode))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    with suppress(PermissionError):  # some folders, and all on Windows, cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= _WIDEST_ESCAPE else f"\\U{code:08x}"


def _key(key: str) -> str:
    return key if _WORD.fullmatch(key) and key.lower() not in _RESERVED else write_flow(key)


def _after_key(value: JSONValue, indent: str) -> str:
    inner = f"{indent}  "
    if isinstance(value, dict) and value:
        return "\n" + write_mapping(value, inner).rstrip("\n")
    if isinstance(value, list) and value and all(isinstance(item, dict) and item for item in value):
        blocks = [write_mapping(cast("dict[str, JSONValue]", item), f"{inner}  ") for item in value]
        return "\n" + "".join(f"{inner}- {block.lstrip(' ')}" for block in blocks).rstrip("\n")
    if isinstance(value, str) and _is_prose(value):
        return f" {_literal(value, inner)}"
    return f" {write_flow(value)}"


def _is_prose(text: str) -> bool:
    """True for a text that a literal block can contain unchanged."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) == 1 or not lines[0] or lines[0].startswith(" ") or not lines[-1]:
        return False
    return all(line.isprintable() and line == line.rstrip() for line in lines)


def _literal(text: str, indent: str) -> str:
    chomping = "" if text.endswith("\n") else "-"
    lines = text.removesuffix("\n").split("\n")
    return "\n".join([f"|{chomping}", *(f"{indent}{line}" if line else "" for line in lines)])


def _replacement(text: str, root: YamlNode, node: YamlNode, value: JSONValue) -> Patch:
    new = write_flow(value)
    if node.style == "empty":
        new = f" {new}"
    elif node.style == "literal":
        comment = _COMMENT.search(_BREAK.split(text[node.start : node.end], maxsplit=1)[0])
        if isinstance(value, str) and _is_prose(value):
            new = _literal(value, " " * (root.column + 2))
        first, *rest = new.split("\n")
        new = "\n".join([f"{first}{comment[0] if comment else ''}", *rest])
    elif node.style == "block" and text[node.start] != "&":  # an anchor is on the line of the key
        lines = _items(value)
        if lines:
            new = f"\n{' ' * node.column}".join(lines)
        elif node.column <= root.column:
            new = f"  {new}"
    return node.start, node.end, new


def _removal(text: str, root: YamlNode, key: str, node: YamlNode) -> Patch:
    """Take a key with a simple value out: its line, or its part of a mapping on one line."""
    start = text.rindex(key, 0, node.start)
    if text[start - 1 : start] in ('"', "'"):
        start -= 1
    if root.style == "flow":
        comma = _COMMA_AFTER.match(text, node.end)
        if comma:
            return start, comma.end(), ""
        before = _COMMA_BEFORE.search(text, root.start, start)
        return before.start() if before else start, node.end, ""
    line = text.rfind("\n", 0, start) + 1
    rest = _BLANK.match(text, node.end)
    end = rest.end() if rest else node.end
    ending = _BREAK.match(text, end)
    if text[line:start].strip() or (end < len(text) and ending is None):  # a comment stays
        return start, end, ""
    return line, ending.end() if ending else end, ""


def _addition(text: str, root: YamlNode, after: int | None, entry: Mapping[str, JSONValue]) -> Patch:
    indent = " " * root.column
    if root.style == "flow":
        place = root.end - 1 if after is None else after
        new = "".join(f", {_key(key)}: {write_flow(value)}" for key, value in entry.items())
    elif after is None:
        place, new = root.start, f"{write_mapping(entry, indent).lstrip(' ')}{indent}"
    else:
        ending = _BREAK.search(text, after)
        place = ending.start() if ending else len(text)
        new = "\n" + write_mapping(entry, indent).rstrip("\n")
    return place, place, new


def _is_open_ended(text: str, node: YamlNode) -> bool:
    """True for a block scalar whose end depends on the lines that follow."""
    written = text[node.start : node.end]
    return bool(_KEEPS_LINES.search(written)) or (
        node.end == len(text) and ("|" in written or ">" in written)
    )


def _items(value: JSONValue) -> list[str]:
    if isinstance(value, list):
        return [f"- {write_flow(item)}" for item in value]
    if isinstance(value, dict):
        return [f"{_key(key)}: {write_flow(item)}" for key, item in value.items()]
    return []
