"""Reads and writes the JSON or YAML text of an override file, and collects all problems of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from toolhaft.errors import PromptValidationError
from toolhaft.prompt.problems import SectionPath
from toolhaft.schema.json_text import has_repeated_key, non_finite_paths, read_json, repeated_keys
from toolhaft.schema.json_value import JSONValue
from toolhaft.schema.problems import render_path

DocumentFormat: TypeAlias = Literal["json", "yaml"]

MAX_FILE_BYTES: Final = 1_000_000
"""The same limit as for tools in YAML."""
ENDINGS: Final = (".json", ".yaml", ".yml")
_MAX_PROBLEMS: Final = 20
_MAX_MESSAGE_BYTES: Final = 2_000
_MAX_FILE_NAME_BYTES: Final = 300
_MAX_PLACE_BYTES: Final = 200
_MAX_PROBLEM_BYTES: Final = 600
"""The limit of a problem, and of its fix, so that at least one whole line fits."""
_MORE_BYTES: Final = 60
"""Reserved for the line about more problems."""
_YAML_FIXES: Final = {
    "the file is empty": "write prompt: ..., sections: ... and tools: ..., or remove the file",
    "a second document starts here": "keep one prompt in one file",
}
"""Replacements for advice of the YAML reader that is about tools."""


class FileProblems:
    """The problems found so far in a file."""

    def __init__(self, file: str) -> None:
        self._file = _show_file(file)
        self._lines: list[str] = []
        self._paths: set[SectionPath] = set()

    def add(self, place: str, problem: str, fix: str, path: SectionPath = ()) -> None:
        """Add one problem.

        Raises:
            PromptValidationError: with all problems, if there are more than a message can list.
        """
        self._paths.add(path)
        self._lines.append(_line(place, problem, fix))
        if len(self._lines) > _MAX_PROBLEMS:
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise an error if there are problems.

        Raises:
            PromptValidationError: with one line per problem, in at most 2,000 bytes.
        """
        if self._lines:
            path = next(iter(self._paths)) if len(self._paths) == 1 else ()
            raise PromptValidationError(self._message(), section_path=path)

    def _message(self) -> str:
        if len(self._lines) == 1:
            return f"{self._file}: {self._lines[0]}"
        is_cut = len(self._lines) > _MAX_PROBLEMS
        head = f"{self._file}: {'many' if is_cut else len(self._lines)} problems:"
        left = _MAX_MESSAGE_BYTES - _size(head) - _MORE_BYTES
        parts = [head]
        for line in self._lines[:_MAX_PROBLEMS]:
            left -= _size(line) + 3
            if left < 0:
                is_cut = True
                break
            parts.append(f"\n- {line}")
        return "".join(parts) + ("\n- and more, listed once these are fixed" if is_cut else "")


def file_error(file: str, problem: str, fix: str = "") -> PromptValidationError:
    """The error for a file that cannot be read further."""
    return PromptValidationError(f"{_show_file(file)}: {_line('', problem, fix)}")


def _show_file(file: str) -> str:
    shown = file if file.isprintable() else ascii(file)
    if _size(shown) <= _MAX_FILE_NAME_BYTES:
        return shown
    # the end of a path is more useful than its start
    return "..." + shown.encode(errors="replace")[3 - _MAX_FILE_NAME_BYTES :].decode(errors="ignore")


def _line(place: str, problem: str, fix: str) -> str:
    text = _cut(problem, _MAX_PROBLEM_BYTES)
    if place:
        text = f"{_cut(place, _MAX_PLACE_BYTES)}: {text}"
    return f"{text}. Fix: {_cut(fix, _MAX_PROBLEM_BYTES)}" if fix else text


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _cut(text: str, max_bytes: int) -> str:
    if _size(text) <= max_bytes:
        return text
    return text.encode(errors="replace")[: max_bytes - 3].decode(errors="ignore") + "..."


def read_document(data: bytes, file: str) -> JSONValue:
    """The value of a file, in the format of its ending.

    Raises:
        PromptValidationError: if it is too large, invalid, or repeats a key.
    """
    if len(data) > MAX_FILE_BYTES:
        raise file_error(file, "the file is larger than 1 MB", f"keep it within {MAX_FILE_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise file_error(file, f"line {line}: the text is not UTF-8", "save the file as UTF-8") from error
    return _read_json(text, file) if file.endswith(".json") else _read_yaml(text, file)


def write_document(values: Mapping[str, JSONValue], file: str) -> str:
    """The text of a file, in the format of its ending.

    Raises:
        PromptValidationError: if it is YAML, and ruamel.yaml is not installed.
    """
    if file.endswith(".json"):
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"
    try:
        from toolhaft.define.yaml.emitter import write_mapping  # noqa: PLC0415 -- ruamel.yaml may be missing
    except ImportError as error:
        raise _no_yaml(file) from error
    return write_mapping(values)


def _read_json(text: str, file: str) -> JSONValue:
    try:
        value = read_json(text)
        repeated = repeated_keys(text) if has_repeated_key(text, value) else []
    except ValueError as error:
        fix = "check the quotes, commas and brackets there; JSON has no comments"
        raise file_error(file, f"this is not JSON: {error!s:.200}", fix) from error
    problems = FileProblems(file)
    for path in repeated:
        problems.add(render_path(path), "the key is given twice", "keep one of the two")
    for path in non_finite_paths(value):
        problems.add(render_path(path), "the number has no finite value", "give a finite number, or quote it")
    problems.raise_if_any()
    return value


def _read_yaml(text: str, file: str) -> JSONValue:
    try:
        from toolhaft.define.yaml.document import plain_value  # noqa: PLC0415 -- ruamel.yaml may be missing
        from toolhaft.define.yaml.document import read_document as read_yaml  # noqa: PLC0415 -- the same
    except ImportError as error:
        raise _no_yaml(file) from error
    root, found = read_yaml(text)
    problems = FileProblems(file)
    for problem in sorted(found, key=lambda problem: problem.line):
        problems.add(f"line {problem.line}", problem.what, _YAML_FIXES.get(problem.what, problem.fix))
    problems.raise_if_any()
    return None if root is None else plain_value(root)


def _no_yaml(file: str) -> PromptValidationError:
    return file_error(file, "YAML needs ruamel.yaml", "pip install 'toolhaft[yaml]', or use JSON")
