"""Shared by all file tools: the filesystem of the call, and notes about sizes and hidden characters."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem
from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.errors import (
    FilesystemError,
    ReadOnlyError,
    ResourceError,
    ResourceMissingError,
    ToolExecutionError,
)
from toolhaft.schema.json_text import read_object
from toolhaft.toolbox.untrusted_text import hidden_characters

LONG_OUTPUT: Final = 90_000
"""Characters; of a longer result, a model may get only the beginning."""
_LONGEST_SHOWN: Final = 300
"""Characters of arguments in a message."""
_BYTE_ORDER_MARK: Final = "\ufeff"


@contextmanager
def call_filesystem(context: ToolContext, *, is_folder: bool = False) -> Generator[Filesystem, None, None]:
    """The call's filesystem, for a `with` block; `is_folder` if the call's path names a folder.

    Raises:
        ToolExecutionError: if the call has none, or an operation on it fails inside the block.
    """
    try:
        files = context.filesystem
    except ResourceMissingError as error:
        if error.kind not in (None, Filesystem):  # one that its factory needs
            raise ToolExecutionError(str(error)) from error
        raise ToolExecutionError(_how_to_give_files(context, is_folder=is_folder)) from error
    except ResourceError as error:
        raise ToolExecutionError(str(error)) from error
    try:
        yield files
    except (FilesystemError, ReadOnlyError) as error:
        raise ToolExecutionError(str(error)) from error


def _how_to_give_files(context: ToolContext, *, is_folder: bool) -> str:
    """The message for a call without files: the line of Python that gives it a folder."""
    name, given = "read_file", {}
    if context.call is not None:
        name, given = context.call.name, read_object(context.call.arguments) or {}
    path = PurePosixPath(str(given.get("path", "")))
    folder = (path if is_folder else path.parent) if path.is_absolute() else "."
    shown = repr(given) if len(repr(given)) <= _LONGEST_SHOWN else "..."
    return (
        f"{name} has no files to work on: it was given no folder. "
        "Fix: from toolhaft import Filesystem, HostFilesystem; "
        f"execute_tool({name}, {shown}, resources={{Filesystem: HostFilesystem({str(folder)!r})}}) "
        "# ToolExecutor takes the same resources"
    )


def hidden_note(text: str, *, begins_file: bool = True) -> str:
    """A note that names the hidden characters of a text; empty if there are none.

    Looks no further than a model gets to see. Line ends of any kind do not count, nor does a byte order mark
    at the beginning of a file.
    """
    head, where = text, "it"
    if len(text) > LONGEST_OUTPUT:
        where = f"its first {LONGEST_OUTPUT:,} characters"
        head = text[:LONGEST_OUTPUT].removesuffix("\r")  # probably half of a line end
    if begins_file:
        head = head.removeprefix(_BYTE_ORDER_MARK)
    return _note(where, hidden_characters(head.replace("\r\n", "\n")))


def hidden_names_note(names: Iterable[str]) -> str:
    """A note that names the hidden characters in names; empty if there are none."""
    joined = "/".join(names)[:LONGEST_OUTPUT]
    found = hidden_characters(joined)
    return _note("names", ("U+000A", *found) if "\n" in joined else found)


def _note(where: str, found: tuple[str, ...]) -> str:
    return f"hidden characters in {where}: {', '.join(found)}" if found else ""
