"""Caches the platform's tools, ready to run: the published ones and the installed ones."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from threading import Lock
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.published import PlatformUser, PublishedTool
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.catalog.runnable import make_runnable
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.define.running.python_function import PythonHandler, find_function, takes_context
from toolhaft.errors import ToolExecutionError, UnknownToolError
from toolhaft.serve.installed_tools import InstalledTool, InstalledToolRows
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.settings import BuiltIn
from toolhaft.serve.storage_threads import read_in_thread

OPERATOR: Final = PlatformUser(is_operator=True)
_MAX_CACHED: Final = 2_000
IS_OPERATOR_CALL: Final[ContextVar[bool]] = ContextVar("toolhaft_as_operator", default=False)
"""True while a call runs for an operator, for whom a tool may forward to every other tool."""


@contextmanager
def _without_interrupts() -> Generator[None]:
    """Turn a KeyboardInterrupt into a failed call: signals go to the server, so the function raised it."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise ToolExecutionError("the function raised KeyboardInterrupt") from error


def adapt_handler(tool: AnyTool, module_folder: str | None) -> AnyTool:
    """A published tool as the platform runs it: no handler may block the event loop that all calls share.

    The module of a python tool is imported, so only a tool that is called may be adapted. Its async function
    runs on the loop. Only python tools may keep `isolation="process"`, since they run only where the operator
    allows them.
    """
    handler = tool.handler
    if not isinstance(handler, PythonHandler):
        return tool if tool.isolation is None else tool.replace(isolation=None)
    handler = replace(handler, project=module_folder)
    if tool.isolation == "process":
        return tool.replace(handler=handler)
    try:
        function = find_function(handler.plan, module_folder)
    except ToolExecutionError:  # the call will report it
        return tool.replace(handler=handler, isolation=None)
    return tool.replace(handler=_wrap(handler, function), isolation=None)


def _wrap(handler: PythonHandler, function: Callable[..., object]) -> Callable[..., object]:
    """The handler: async only if its function is, and with a context only if its function takes one.

    Without a context there is no session or file to fork, roll back or wait for.
    """

    def sync(input: dict[str, object]) -> object:
        with _without_interrupts():
            return handler(input)

    def sync_with_context(input: dict[str, object], context: ToolContext) -> object:
        with _without_interrupts():
            return handler(input, context)

    async def on_loop_with_context(input: dict[str, object], context: ToolContext) -> object:
        with _without_interrupts():
            return await cast("Awaitable[object]", handler(input, context))

    async def on_loop(input: dict[str, object]) -> object:
        with _without_interrupts():
            return await cast("Awaitable[object]", handler(input))

    has_context = takes_context(function)
    if inspect.iscoroutinefunction(function):
        return on_loop_with_context if has_context else on_loop
    return sync_with_context if has_context else sync


class ToolCache:
    """The tools of the platform; rows are cached until the revision of the database changes."""

    def __init__(
        self,
        store: PublishedStore,
        *,
        url: str,
        kinds: frozenset[str],
        built_in: BuiltIn = "public",
        module_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._store = store
        self._url = url
        self._kinds = kinds
        self._module_folder = None if module_folder is None else os.fspath(module_folder)
        self._rows: BoundedCache[str, PublishedTool | None] = BoundedCache(_MAX_CACHED)
        self._runnable: BoundedCache[tuple[str, int], AnyTool] = BoundedCache(_MAX_CACHED)
        self._unrestricted: BoundedCache[int, tuple[AnyTool, AnyTool]] = BoundedCache(_MAX_CACHED)
        self._revision = -1
        self._lock = Lock()
        self._installed = InstalledToolRows(url=url, built_in=built_in)

    @property
    def installed_ids(self) -> frozenset[str]:
        """The ids of the tools that are installed next to the platform."""
        return self._installed.ids

    def visible_tools(
        self,
        viewer: PlatformUser,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[PublishedTool]:
        """The published and installed tools that the viewer may see, sorted by id.

        Raises:
            StorageError: if the database cannot be read.
        """
        published = self._store.list(viewer, tag=tag, owner=owner, share=share, after=after, limit=limit)
        fitting = self._fitting_installed(viewer, tag=tag, owner=owner, share=share)
        installed = [row for row in fitting if row.id > (after or "")]
        both = {row.id: row for row in (*installed, *published)}
        return sorted(both.values(), key=lambda row: row.id)[:limit]

    def count_visible(
        self,
        viewer: PlatformUser,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
    ) -> int:
        """How many tools `visible_tools` returns without a limit.

        Raises:
            StorageError: if the database cannot be read.
        """
        installed = self._fitting_installed(viewer, tag=tag, owner=owner, share=share)
        return self._store.count(viewer, tag=tag, owner=owner, share=share) + len(installed)

    def _fitting_installed(
        self, viewer: PlatformUser, *, tag: str | None, owner: str | None, share: str | None
    ) -> list[InstalledTool]:
        return [
            row
            for row in self._visible_installed(viewer)
            if owner in (None, row.owner) and share in (None, row.share)
            if tag is None or tag in row.tool.tags
        ]

    def find_rows(self, ids: Sequence[str], viewer: PlatformUser) -> list[PublishedTool]:
        """The rows of some tools, in their order; those that the viewer may not see are left out.

        Raises:
            StorageError: if the database cannot be read.
        """
        rows: dict[str, PublishedTool] = {row.id: row for row in self._store.find(ids, viewer)}
        missing = [id for id in ids if id not in rows and id in self.installed_ids]
        if missing:
            rows |= {row.id: row for row in self._visible_installed(viewer) if row.id in missing}
        return [rows[id] for id in ids if id in rows]

    def installed_rows(self) -> list[InstalledTool]:
        """All installed tools that the platform offers to somebody."""
        return self._installed.rows()

    def _visible_installed(self, viewer: PlatformUser) -> list[InstalledTool]:
        """Installed tools that the viewer may see; a published one of the same id hides it."""
        rows = [row for row in self._installed.rows() if row.is_visible_to(viewer)]
        taken = self._store.taken([row.id for row in rows])
        return [row for row in rows if row.id not in taken]

    def cached(self, id: str, revision: int) -> PublishedTool | EllipsisType | None:
        """The result of `find` if it was read at this revision, else `...`."""
        if revision != self._revision:
            with self._lock:
                self._rows.clear()
                self._revision = revision
        return self._rows.get(id, ...)

    async def find(self, id: str, revision: int) -> PublishedTool | None:
        """The published or else the installed tool of an id, visible or not; None if there is none.

        Raises:
            StorageError: if the database cannot be read.
        """
        found = self.cached(id, revision)
        return await asyncio.to_thread(self._read, id, revision) if found is ... else found

    async def find_visible(self, id: str, revision: int, viewer: PlatformUser) -> PublishedTool:
        """The published or else the installed tool of an id.

        Raises:
            UnknownToolError: if there is none that the viewer may see.
            StorageError: if the database cannot be read.
        """
        published = await self.find(id, revision)
        if published is None or not published.is_visible_to(viewer):
            raise await read_in_thread(self._unknown_tool, id, viewer)
        return published

    def runnable_tool(self, published: PublishedTool, *, is_called: bool = True) -> AnyTool:
        """A tool of the platform with its handler; a python tool that is called is imported.

        Raises:
            DefinitionError: if this version cannot read its row.
        """
        if isinstance(published, InstalledTool):
            return cast("AnyTool", self._installed.tool(published.id))
        key = (published.id, published.revision)
        ready = self._runnable.get(key)
        if ready is None:
            ready = make_runnable(
                published,
                platform_url=self._url,
                find_published=lambda id: self._for_caller(self._forwarding_target(id, published)),
                kinds=self._kinds,
                # only the one of the same id: its publisher may not see the other installed tools
                find_installed=lambda id: (
                    self._for_caller(self._installed.tool(id)) if id == published.id else None
                ),
            )
            if not is_called and isinstance(ready.handler, PythonHandler):
                return ready
            ready = adapt_handler(ready, self._module_folder)
            self._runnable[key] = ready
        return ready

    def _for_caller(self, tool: AnyTool | None) -> AnyTool | None:
        """A tool that another forwards to; for an operator, a cached copy without required scopes."""
        if tool is None or not tool.requires or not IS_OPERATOR_CALL.get():
            return tool
        with self._lock:
            pair = self._unrestricted.get(id(tool))  # holds the tool too: its id() must not be reused
            if pair is None:
                pair = self._unrestricted[id(tool)] = (tool, tool.replace(requires=()))
        return pair[1]

    def tool_to_describe(self, published: PublishedTool) -> AnyTool:
        """The tool whose schemas describe a call: the published document, or the installed tool itself.

        Raises:
            DefinitionError: if this version cannot read its row.
        """
        return (
            self.runnable_tool(published)
            if isinstance(published, InstalledTool)
            else cast("AnyTool", published.tool)
        )

    def may_run(self, published: PublishedTool) -> bool:
        """False if the operator does not allow its kind of `run`.

        Raises:
            DefinitionError: if this version cannot read its row.
        """
        run = None if isinstance(published, InstalledTool) else published.tool.run
        return run is None or run.kind in self._kinds

    def _unknown_tool(self, id: str, viewer: PlatformUser) -> UnknownToolError:
        visible = [*self._store.ids(viewer), *(row.id for row in self._visible_installed(viewer))]
        if id in visible:
            return UnknownToolError(f"there was no tool {id!r:.80} a moment ago; try again")
        return self._store.unknown(id, visible)

    def _read(self, id: str, revision: int) -> PublishedTool | None:
        try:
            found = self._store.get(id, OPERATOR)
        except UnknownToolError:
            found = self._installed.row(id)
        with self._lock:
            if revision == self._revision:  # otherwise it may have changed while it was read
                self._rows[id] = found
        return found

    def _forwarding_target(self, id: str, published: PublishedTool) -> AnyTool | None:
        """The tool that a published one forwards to, if its publisher may see it."""
        publisher = PlatformUser(owner=published.owner, org=published.org, is_operator=not published.owner)
        found = self._rows.get(id, ...)
        if isinstance(found, EllipsisType):
            found = self._read(id, self._revision)
        return None if found is None or not found.is_visible_to(publisher) else self.runnable_tool(found)
