"""A folder of override files: one per prompt and tag, read again when it changes, or written to be edited.

Nothing outside the folder is read or written.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple, Protocol, cast

from toolhaft.core.conversion import AnyTool
from toolhaft.errors import PromptValidationError
from toolhaft.prompt.overrides.apply import section_digest, tool_digest
from toolhaft.prompt.overrides.documents import (
    ENDINGS,
    MAX_FILE_BYTES,
    DocumentFormat,
    file_error,
    read_document,
    write_document,
)
from toolhaft.prompt.overrides.parse import Overrides, parse_overrides
from toolhaft.prompt.problems import dotted_path
from toolhaft.prompt.tree import SectionNode
from toolhaft.schema.json_schema import argument_schemas
from toolhaft.schema.json_text import NotJSONError, object_to_text, read_json
from toolhaft.schema.json_value import JSONObject, JSONValue

_NAME: Final = re.compile(r"[A-Za-z0-9_-](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_-])?")
_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
_FRESH_NS: Final = 1_000_000_000
"""A file changed this recently may change again without a new timestamp."""


class SeedablePrompt(Protocol):
    """A Prompt, as `seed` needs it."""

    @property
    def name(self) -> str:
        """The name of the prompt."""
        ...

    @property
    def nodes(self) -> tuple[SectionNode, ...]:
        """Its sections as written in the code, without overrides."""
        ...


class _Read(NamedTuple):
    stamp: tuple[object, ...]
    data: bytes
    overrides: Overrides
    is_settled: bool


class OverrideStore:
    """Overrides in the files `<folder>/<name of the prompt>/<tag>.json`, `.yaml` or `.yml`.

    Args:
        folder: the folder of the files; it need not exist yet.
        tag: which of several files of a prompt is used, such as `stable` or `draft`.

    Raises:
        PromptValidationError: for a tag that cannot be a file name.
    """

    def __init__(self, folder: str | os.PathLike[str], *, tag: str = "stable") -> None:
        self.folder = os.fspath(folder)
        self.tag = _check_name("tag", tag)
        self._read: dict[str, _Read] = {}

    def load(self, prompt_name: str) -> Overrides | None:
        """The overrides of a prompt; the same object until the file changes; None if there is no file.

        Raises:
            PromptValidationError: with every problem of the file, or if there are several files.
        """
        found = self._find(_check_name("name of a prompt", prompt_name))
        if found is None:
            return None
        file, stamp = found
        known = self._read.get(prompt_name)
        if known is not None and known.is_settled and known.stamp == stamp:
            return known.overrides
        data, stat = self._read_bytes(file)
        if known is not None and known.overrides.file == file and known.data == data:
            overrides = known.overrides
        else:
            overrides = parse_overrides(read_document(data, file), file=file, prompt=prompt_name)
        is_settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > _FRESH_NS
        self._read[prompt_name] = _Read(_stamp(file, stat), data, overrides, is_settled)
        return overrides

    def seed(self, prompt: SeedablePrompt, *, format: DocumentFormat = "json") -> Path:
        """Write a file with every text of a prompt that may be overridden, to be edited; return its path.

        Keep the entries that you change and remove the others: when the code of an entry changes, the
        entry is refused.

        Raises:
            PromptValidationError: if the prompt has a file already, or it cannot be written.
        """
        name = _check_name("name of a prompt", prompt.name)
        if format not in ("json", "yaml"):
            raise PromptValidationError(
                f"{format!r:.40} is not a format for overrides. Fix: use 'json' or 'yaml'"
            )
        file = self._file(name, f".{format}")
        for ending in ENDINGS:
            if os.path.lexists(self._file(name, ending)):
                raise _taken(self._file(name, ending))
        data = _seed_bytes(prompt, file)
        folder = os.path.dirname(file)  # noqa: PTH120 -- a Path would drop a leading './'
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise _unwritable(file, error) from error
        self._check_inside(folder, file)
        try:
            _write_new(Path(file), data)
        except FileExistsError as error:
            raise _taken(file) from error
        except OSError as error:
            raise _unwritable(file, error) from error
        return Path(file)

    def _file(self, name: str, ending: str) -> str:
        # a Path would drop a leading './'
        return os.path.join(self.folder, name, f"{self.tag}{ending}")  # noqa: PTH118 -- the same

    def _find(self, name: str) -> tuple[str, tuple[object, ...]] | None:
        """The file of a prompt with its stamp, which changes with the file; None if there is none."""
        found: list[tuple[str, tuple[object, ...]]] = []
        for ending in ENDINGS:
            file = self._file(name, ending)
            try:
                found.append((file, _stamp(file, os.stat(file))))  # noqa: PTH116 -- it is a str
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise _unreadable(file, error) from error
        if len(found) > 1:
            others = ", ".join(file for file, _ in found[1:])
            raise file_error(found[0][0], f"the prompt has another file: {others}", "keep one of them")
        return found[0] if found else None

    def _read_bytes(self, file: str) -> tuple[bytes, os.stat_result]:
        try:
            real = self._check_inside(file, file)
            descriptor = os.open(real, _FLAGS)
            stat = os.fstat(descriptor)
            if not S_ISREG(stat.st_mode):
                os.close(descriptor)
                raise file_error(file, "this is not a regular file", "replace it with a file, or remove it")
            with open(descriptor, "rb") as stream:  # noqa: PTH123 -- a descriptor
                return stream.read(MAX_FILE_BYTES + 1), stat
        except OSError as error:
            raise _unreadable(file, error) from error

    def _check_inside(self, path: str, file: str) -> str:
        """The path with links resolved.

        Raises:
            PromptValidationError: if a link leads out of the folder.
        """
        real = os.path.realpath(path)
        if not Path(real).is_relative_to(os.path.realpath(self.folder)):
            raise file_error(file, "a link leads out of the folder of overrides", "put the file itself there")
        return real

    def __repr__(self) -> str:
        return f"OverrideStore({self.folder!r}, tag={self.tag!r})"


def _check_name(what: str, name: object) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise PromptValidationError(
        f"{name!r:.140} cannot be the {what} in a store of overrides: it is part of a file's path. "
        "Fix: use 1 to 128 letters, digits, '_', '-' or '.', with '.' neither first nor last"
    )


def _stamp(file: str, stat: os.stat_result) -> tuple[object, ...]:
    return file, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino, stat.st_dev


def _seed_bytes(prompt: SeedablePrompt, file: str) -> bytes:
    """The bytes of a new file, checked by reading them back."""
    text = write_document(overridable_texts(prompt.name, prompt.nodes), file)
    data = text.encode(errors="surrogatepass")  # reading it back reports a lone surrogate
    try:
        parse_overrides(read_document(data, file), file=file, prompt=prompt.name)
    except PromptValidationError as error:
        problem = f"the file could not be read back: {error!s:.400}"
        raise file_error(file, problem, "seed it as JSON, or shorten and fix its texts") from error
    return data


def _write_new(target: Path, data: bytes) -> None:
    """Create a file atomically; an existing file is never replaced."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(draft, target)  # unlike a rename, it fails if the file exists
    finally:
        draft.unlink(missing_ok=True)


def _taken(file: str) -> PromptValidationError:
    return file_error(
        file, "the file exists already, and is not overwritten", "edit it, or move it away and seed again"
    )


def _unreadable(file: str, error: OSError | ValueError) -> PromptValidationError:
    return file_error(
        file, f"the file cannot be read: {_reason(error)}", "check the path and its permissions"
    )


def _unwritable(file: str, error: OSError | ValueError) -> PromptValidationError:
    return file_error(
        file, f"the file cannot be written: {_reason(error)}", "check the folder and its permissions"
    )


def _reason(error: OSError | ValueError) -> str:
    # without the path, which the message names already
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


def overridable_texts(prompt: str, nodes: Iterable[SectionNode]) -> JSONObject:
    """Every text that may be overridden, with its digest; null for a description that is missing."""
    found = [node for root in nodes for node in root.walk()]
    sections: JSONObject = {
        dotted_path(node.path): _section_entry(node)
        for node in found
        if node.section.accepts_overrides and (node.template, node.summary) != (None, None)
    }
    tools: JSONObject = {}
    for node in found:
        for tool in node.tools:
            # a file has one entry per name: the first tool gets it
            if tool.accepts_overrides and tool.name not in tools:
                tools[tool.name] = _tool_entry(tool)
    return {"prompt": prompt, "sections": sections, "tools": tools}


def _section_entry(node: SectionNode) -> JSONObject:
    entry: JSONObject = {"digest": section_digest(node)}
    if node.template is not None:
        entry["text"] = node.template
    if node.summary is not None:
        entry["summary"] = node.summary
    return entry


def _tool_entry(tool: AnyTool) -> JSONObject:
    properties = argument_schemas(cast("JSONObject", tool.input_schema))
    parameters: JSONObject = {
        name: schema.get("description") or None
        for name, schema in properties.items()
        if isinstance(schema, dict)
    }
    entry: JSONObject = {"digest": tool_digest(tool), "description": tool.description}
    if parameters:
        entry["parameters"] = parameters
    entry["examples"] = _examples(tool)
    return entry


def _examples(tool: AnyTool) -> JSONValue:
    """The examples as JSON; null if JSON cannot express them, which keeps them unchanged."""
    examples = [
        {"description": example.description, "input": example.input, "output": example.output}
        for example in tool.examples
    ]
    try:
        return read_json(object_to_text(examples)) or None
    except (NotJSONError, ValueError):
        return None
