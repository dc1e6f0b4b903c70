"""The files of a call as the file tools reach them: a refusal comes out as the tool's own error.

Does not know what the tools do with them.
"""

from __future__ import annotations

from types import TracebackType

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem
from toolhaft.errors import FilesystemError, ReadOnlyError, ResourceError, ToolExecutionError


class Reached:
    """A block with the call's files.

    Raises:
        ToolExecutionError: where there are none, and for every refusal inside the block.
    """

    __slots__ = ("_context",)

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def __enter__(self) -> Filesystem:
        try:
            return self._context.filesystem
        except ResourceError as error:
            raise ToolExecutionError(str(error)) from error

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, FilesystemError | ReadOnlyError):
            raise ToolExecutionError(str(error)) from error
