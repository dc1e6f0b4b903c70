"""The pool of processes of one executor, made when a tool first needs it.

Knows which tools can travel; does not know how a worker runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import cast

from toolhaft.backends.process import ProcessPool
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError


class Processes:
    """Makes the pool once, and remembers how each handler travels."""

    __slots__ = ("_lock", "_made", "_max_workers", "_memory_bytes", "_travelling")

    def __init__(self, max_workers: int | None, memory_bytes: int | None) -> None:
        self._max_workers = max_workers
        self._memory_bytes = memory_bytes
        self._made: ProcessPool | None = None
        self._travelling: dict[str, tuple[object, bytes]] = {}
        self._lock = Lock()

    def check(self, tool: AnyTool) -> bytes:
        """What travels to a worker to find the handler again.

        Raises:
            DefinitionError: where it cannot travel.
        """
        handler, found = self._travelling.get(tool.name, (None, b""))
        if handler is not tool.handler:  # another prompt may have another tool of this name
            try:
                found = self.pool().check(cast("Callable[..., object]", tool.handler))
            except DefinitionError as error:
                raise error.of(tool.name) from error.__cause__
            self._travelling[tool.name] = tool.handler, found
        return found

    def prepare(self, tools: Mapping[str, AnyTool]) -> None:
        """Check that every handler that runs in a process can travel, and start a worker that knows them.

        Raises:
            DefinitionError: for the first one that cannot.
        """
        isolated = [tool for tool in tools.values() if tool.isolation == "process"]
        handlers = [self.check(tool) for tool in isolated if tool.handler is not None]
        if handlers:
            self.pool().warm_up(handlers)

    def pool(self) -> ProcessPool:
        """The pool itself."""
        with self._lock:
            if self._made is None:
                self._made = ProcessPool(max_workers=self._max_workers, memory_bytes=self._memory_bytes)
            return self._made

    def close(self) -> None:
        """End every worker."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()
