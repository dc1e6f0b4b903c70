"""Shared by all file tools: the filesystem of the call, and notes about sizes and hidden characters."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem
from toolhaft.core.result import LONGEST_OUTPUT
from toolhaft.errors import FilesystemError, ReadOnlyError, ResourceError, ToolExecutionError
from toolhaft.toolbox.untrusted_text import hidden_characters

LONG_OUTPUT: Final = 90_000
"""Characters; of a longer result, a model may get only the beginning."""
_BYTE_ORDER_MARK: Final = "\ufeff"


@contextmanager
def call_filesystem(context: ToolContext) -> Generator[Filesystem, None, None]:
    """The call's filesystem, for a `with` block.

    Raises:
        ToolExecutionError: if the call has none, or an operation on it fails inside the block.
    """
    try:
        files = context.filesystem
    except ResourceError as error:
        raise ToolExecutionError(str(error)) from error
    try:
        yield files
    except (FilesystemError, ReadOnlyError) as error:
        raise ToolExecutionError(str(error)) from error


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
