"""The tools that this platform has, ready to be run: published ones, and what is installed beside it.

Knows the shelf and entry points; does not know who calls.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from threading import Lock
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.installed import Installed, load_offer
from toolhaft.catalog.runnable import runnable
from toolhaft.catalog.shelf import Published, Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.core.context import ToolContext
from toolhaft.core.doors import AnyTool
from toolhaft.core.typed import context_parameter
from toolhaft.define.running.python_function import PythonHandler, find_function
from toolhaft.errors import DefinitionError, ToolExecutionError, UnknownToolError
from toolhaft.schema.nearest import nearest

OPERATOR: Final = Viewer(is_operator=True)
_LOG: Final = logging.getLogger("toolhaft")
_MOST_KNOWN: Final = 2_000


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
        return handler(input)

    async def with_context(input: dict[str, object], context: ToolContext) -> object:
        return await cast("Awaitable[object]", handler(input, context))

    async def alone(input: dict[str, object]) -> object:
        return await cast("Awaitable[object]", handler(input))

    takes_context = _takes_context(function)
    if inspect.iscoroutinefunction(function):
        return with_context if takes_context else alone
    return handler if takes_context else on_thread


def _takes_context(function: Callable[..., object]) -> bool:
    try:
        return "context" in inspect.signature(function).parameters or context_parameter(function) is not None
    except (TypeError, ValueError):  # one that is written in C
        return False


class Stock:
    """What can be run here; what was read from the database is kept until its revision changes."""

    def __init__(self, shelf: Shelf, *, url: str, kinds: frozenset[str]) -> None:
        self._shelf = shelf
        self._url = url
        self._kinds = kinds
        self._known: OrderedDict[str, Published | None] = OrderedDict()
        self._ready: OrderedDict[tuple[str, int], AnyTool] = OrderedDict()
        self._revision = -1
        self._lock = Lock()
        self._offers = {offer.id: offer for offer in reversed(Installed().offers)}
        self._installed: dict[str, AnyTool | None] = {}

    @property
    def installed_ids(self) -> frozenset[str]:
        """The ids of tools that are installed beside the platform."""
        return frozenset(self._offers)

    def known(self, id: str, revision: int) -> Published | EllipsisType | None:
        """The same as `find` where it was read at this revision before, else `...`."""
        if revision != self._revision:
            with self._lock:
                self._known.clear()
                self._revision = revision
        return self._known.get(id, ...)

    async def find(self, id: str, revision: int) -> Published | None:
        """The published tool of an id, whoever may see it; None where there is none.

        Raises:
            StorageError: where the database cannot be read.
        """
        found = self.known(id, revision)
        return await asyncio.to_thread(self._read, id, revision) if found is ... else found

    def tool_of(self, published: Published) -> AnyTool:
        """A published tool, with what runs it.

        Raises:
            DefinitionError: where its row says what this version does not take.
        """
        key = (published.id, published.revision)
        ready = self._ready.get(key)
        if ready is None:
            ready = runnable(
                published,
                platform_url=self._url,
                behind=lambda id: self._behind(id, published),
                kinds=self._kinds,
                # another tool is stood in for only where it is published: an installed one is not everybody's
                installed=lambda id: self.installed(id) if id == published.id else None,
            )
            ready = settle(ready)
            with self._lock:
                self._ready[key] = ready
                if len(self._ready) > _MOST_KNOWN:
                    self._ready.popitem(last=False)
        return ready

    def installed(self, id: str) -> AnyTool | None:
        """The installed tool of an id; None where there is none, or it cannot be loaded."""
        if id not in self._offers:
            return None
        if id not in self._installed:
            try:
                self._installed[id] = load_offer(self._offers[id])
            except DefinitionError as error:
                _LOG.warning("an installed tool is left out: %s", error)
                self._installed[id] = None
        return self._installed[id]

    def unknown(self, id: str, viewer: Viewer, *, runs: bool = False) -> UnknownToolError:
        """What a viewer is told of an id that they see no tool of; an operator `runs` installed ones too.

        Raises:
            StorageError: where the database cannot be read.
        """
        try:
            self._shelf.get(id, viewer)
        except UnknownToolError as error:
            close = nearest(id, sorted(self._offers)) if runs and viewer.is_operator else None
            return (
                error if close is None else UnknownToolError(f"no tool {id!r:.80}; did you mean {close!r}?")
            )
        return UnknownToolError(f"no tool {id!r:.80} a moment ago; try again")

    def _read(self, id: str, revision: int) -> Published | None:
        try:
            found = self._shelf.get(id, OPERATOR)
        except UnknownToolError:
            found = None
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
