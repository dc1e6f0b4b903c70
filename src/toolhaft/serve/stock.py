"""The tools that this platform has, ready to be run: published ones, and what is installed beside it.

Knows the shelf and what is offered; does not know who calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from threading import Lock
from types import EllipsisType, TracebackType
from typing import Final, cast

from toolhaft.catalog.runnable import runnable
from toolhaft.catalog.shelf import Published, Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.typed import context_parameter
from toolhaft.define.running.python_function import PythonHandler, find_function
from toolhaft.errors import ToolExecutionError, UnknownToolError
from toolhaft.serve.offered import Offered, Offers
from toolhaft.serve.settings import BuiltIn

OPERATOR: Final = Viewer(is_operator=True)
_MOST_KNOWN: Final = 2_000
AS_OPERATOR: Final[ContextVar[bool]] = ContextVar("toolhaft_as_operator", default=False)
"""True while a call runs for an operator."""


class _Sealed:
    """Makes a failure of a KeyboardInterrupt: signals go to the server, so the function raised it itself."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise ToolExecutionError("the function raised KeyboardInterrupt") from error


_SEALED: Final = _Sealed()


def settle(tool: AnyTool) -> AnyTool:
    """A published tool as it is run here: nobody's handler holds up the event loop of all the others.

    A coroutine function of a python tool is called on the loop, as in any program of its author's; only
    python tools have processes of their own, since only an operator lets those run.
    """
    handler = tool.handler
    if not isinstance(handler, PythonHandler):
        return tool if tool.isolation is None else tool.replace(isolation=None)
    if tool.isolation == "process":
        return tool
    try:
        function = find_function(handler.plan)
    except ToolExecutionError:  # told by the call, where somebody hears it
        return tool.replace(isolation=None)
    return tool.replace(handler=_as_function(handler, function), isolation=None)


def _as_function(handler: PythonHandler, function: Callable[..., object]) -> Callable[..., object]:
    """The handler as its function is: on the loop or not, and without a context where none is taken.

    What takes no context can change nothing that would have to be forked, undone or waited for.
    """

    def on_thread(input: dict[str, object]) -> object:
        with _SEALED:
            return handler(input)

    def on_thread_with_context(input: dict[str, object], context: ToolContext) -> object:
        with _SEALED:
            return handler(input, context)

    async def with_context(input: dict[str, object], context: ToolContext) -> object:
        with _SEALED:
            return await cast("Awaitable[object]", handler(input, context))

    async def alone(input: dict[str, object]) -> object:
        with _SEALED:
            return await cast("Awaitable[object]", handler(input))

    takes_context = _takes_context(function)
    if inspect.iscoroutinefunction(function):
        return with_context if takes_context else alone
    return on_thread_with_context if takes_context else on_thread


def _takes_context(function: Callable[..., object]) -> bool:
    try:
        return "context" in inspect.signature(function).parameters or context_parameter(function) is not None
    except (TypeError, ValueError):  # one that is written in C
        return False


class Stock:
    """What can be run here; what was read from the database is kept until its revision changes."""

    def __init__(
        self, shelf: Shelf, *, url: str, kinds: frozenset[str], built_in: BuiltIn = "public"
    ) -> None:
        self._shelf = shelf
        self._url = url
        self._kinds = kinds
        self._known: OrderedDict[str, Published | None] = OrderedDict()
        self._ready: OrderedDict[tuple[str, int], AnyTool] = OrderedDict()
        self._open: OrderedDict[int, tuple[AnyTool, AnyTool]] = OrderedDict()
        self._revision = -1
        self._lock = Lock()
        self._offers = Offers(url=url, built_in=built_in)

    @property
    def installed_ids(self) -> frozenset[str]:
        """The ids of tools that are installed beside the platform."""
        return self._offers.ids

    def listed(
        self,
        viewer: Viewer,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Published]:
        """The tools that the viewer may see, by id, as `Shelf.list` has them, and what is offered beside.

        Raises:
            StorageError: where the database cannot be read.
        """
        on_shelf = self._shelf.list(viewer, tag=tag, owner=owner, share=share, after=after, limit=limit)
        offered = [
            row
            for row in self._unpublished(viewer)
            if row.id > (after or "") and owner in (None, row.owner) and share in (None, row.share)
            if tag is None or tag in row.tool.tags
        ]
        both = {row.id: row for row in (*offered, *on_shelf)}
        return sorted(both.values(), key=lambda row: row.id)[:limit]

    def _unpublished(self, viewer: Viewer) -> list[Offered]:
        """What is offered to a viewer, and not hidden by something published, which they may not see."""
        rows = [row for row in self._offers.rows() if viewer.may_see(row.owner, row.org, row.share)]
        taken = self._shelf.taken([row.id for row in rows])
        return [row for row in rows if row.id not in taken]

    def known(self, id: str, revision: int) -> Published | EllipsisType | None:
        """The same as `find` where it was read at this revision before, else `...`."""
        if revision != self._revision:
            with self._lock:
                self._known.clear()
                self._revision = revision
        return self._known.get(id, ...)

    async def find(self, id: str, revision: int) -> Published | None:
        """The tool of an id, published or else offered, whoever may see it; None where there is none.

        Raises:
            StorageError: where the database cannot be read.
        """
        found = self.known(id, revision)
        return await asyncio.to_thread(self._read, id, revision) if found is ... else found

    def tool_of(self, published: Published) -> AnyTool:
        """A tool of the platform, with what runs it.

        Raises:
            DefinitionError: where its row says what this version does not take.
        """
        if isinstance(published, Offered):
            return cast("AnyTool", self._offers.tool(published.id))
        key = (published.id, published.revision)
        ready = self._ready.get(key)
        if ready is None:
            ready = runnable(
                published,
                platform_url=self._url,
                behind=lambda id: self._opened(self._behind(id, published)),
                kinds=self._kinds,
                # another tool is stood in for only where its publisher sees it: not all that is installed is
                installed=lambda id: self._opened(self._offers.tool(id)) if id == published.id else None,
            )
            ready = settle(ready)
            with self._lock:
                self._ready[key] = ready
                if len(self._ready) > _MOST_KNOWN:
                    self._ready.popitem(last=False)
        return ready

    def _opened(self, tool: AnyTool | None) -> AnyTool | None:
        """The tool behind another, the same one each time; an operator may use it whatever it requires."""
        if tool is None or not tool.requires or not AS_OPERATOR.get():
            return tool
        with self._lock:
            opened = self._open.get(id(tool))
            if opened is None:
                opened = self._open[id(tool)] = (tool, tool.replace(requires=()))
                if len(self._open) > _MOST_KNOWN:
                    self._open.popitem(last=False)
        return opened[1]

    def described(self, published: Published) -> AnyTool:
        """The tool that says what a call takes: the document, or the installed tool itself, which is exact.

        Raises:
            DefinitionError: where its row says what this version does not take.
        """
        return self.tool_of(published) if isinstance(published, Offered) else cast("AnyTool", published.tool)

    def lets_run(self, published: Published) -> bool:
        """True unless it is of a kind that the operator does not let run.

        Raises:
            DefinitionError: where its row says what this version does not take.
        """
        run = None if isinstance(published, Offered) else published.tool.run
        return run is None or run.kind in self._kinds

    def unknown(self, id: str, viewer: Viewer) -> UnknownToolError:
        """What a viewer is told of an id that they see no tool of.

        Raises:
            StorageError: where the database cannot be read.
        """
        seen = [*self._shelf.ids(viewer), *(row.id for row in self._unpublished(viewer))]
        if id in seen:
            return UnknownToolError(f"no tool {id!r:.80} a moment ago; try again")
        return self._shelf.unknown(id, seen)

    def _read(self, id: str, revision: int) -> Published | None:
        try:
            found = self._shelf.get(id, OPERATOR)
        except UnknownToolError:
            found = self._offers.row(id)
        with self._lock:
            if revision == self._revision:  # else it may have changed while it was read
                self._known[id] = found
                if len(self._known) > _MOST_KNOWN:
                    self._known.popitem(last=False)
        return found

    def _behind(self, id: str, published: Published) -> AnyTool | None:
        """The tool that another one stands in for, where whoever published that may see it."""
        publisher = Viewer(owner=published.owner, org=published.org, is_operator=not published.owner)
        found = self._known.get(id, ...)
        if isinstance(found, EllipsisType):
            found = self._read(id, self._revision)
        if found is None or not publisher.may_see(found.owner, found.org, found.share):
            return None
        return self.tool_of(found)
