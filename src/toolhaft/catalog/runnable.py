"""Makes a published tool ready to be called: by its own `run`, by what is upstream, or by the tool behind it.

Knows what a publisher may have run where; does not know HTTP servers or how a request is made.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from threading import Lock
from typing import Any, Final, NoReturn, cast

from toolhaft.catalog.addresses import id_at
from toolhaft.catalog.platform import Platform
from toolhaft.catalog.shelf import Published
from toolhaft.core.call import ToolCall
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.failure import Failure
from toolhaft.core.result import ToolResult
from toolhaft.define.yaml import YamlTool, parse_tool
from toolhaft.errors import (
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
    UnknownToolError,
)
from toolhaft.execute.executor import ToolExecutor
from toolhaft.execute.run import CURRENT

ALL_KINDS: Final = frozenset(("argv", "http", "python"))
"""What may run where the publisher and the one who calls are one person."""
_MOST_KEPT: Final = 32

_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("toolhaft_standing_in", default=())
_ERRORS: Final[Mapping[str, type[ToolError]]] = {
    "invalid_arguments": ToolValidationError,
    "not_allowed": ToolAuthorizationError,
    "timeout": ToolTimeoutError,
    "deadline": ToolTimeoutError,
}


def runnable(
    published: Published,
    *,
    platform_url: str,
    behind: Callable[[str], AnyTool | None],
    kinds: frozenset[str] = frozenset({"http"}),
    installed: Callable[[str], AnyTool | None] | None = None,
    folder: str | os.PathLike[str] | None = None,
    why_not: str | None = None,
) -> AnyTool:
    """The tool with a handler, or without one where there is nothing to run.

    Args:
        published: the tool as the platform has it.
        platform_url: the platform's own address, without a slash at its end.
        behind: gives the platform's tool of another id, which this one may stand in for.
        kinds: of `run` that may be run here; any other is refused when it is called.
        installed: gives the installed tool of an id; by default what Python entry points offer.
        folder: where the tool is run as if its file was there; by default nowhere in particular.
        why_not: what is said of a kind that may not be run; by default, that the operator does not allow it.

    Raises:
        DefinitionError: where its text says what this version does not take.
    """
    tool = published.tool
    if folder is not None:
        tool = parse_tool(published.text, f"{published.id}.yaml", folder=folder)
    if tool.says_active is False:
        return tool
    if tool.run is not None:
        if tool.run.kind in kinds:
            return tool
        return tool.replace(
            handler=_refusing(tool.name, why_not or _not_allowed(tool.run.kind)), isolation=None
        )
    find_installed = installed or installed_tool
    target = id_at(platform_url, published.upstream)
    if published.upstream and target is None:
        return with_endpoint(tool, published.upstream)
    if target is None or target == published.id:
        is_there = find_installed(published.id) is not None
        return _standing_in(tool, published.id, find_installed) if is_there else tool.replace(handler=None)
    # not looked for yet: it may stand in for others itself, and these for this one
    return _standing_in(tool, target, lambda id: behind(id) or find_installed(id))


def in_process(tool: YamlTool[dict[str, object], object], platform: Platform) -> AnyTool:
    """A project's own tool whose endpoint is on the embedded platform, run without a server.

    Raises:
        DefinitionError: where what stands behind it cannot be loaded.
    """
    target = id_at(platform.url, tool.endpoint)
    if target is None:
        return tool

    def find(id: str) -> AnyTool | None:
        try:
            return platform.runnable(id)
        except UnknownToolError:
            return installed_tool(id)

    return _standing_in(tool, target, find) if _is_there(platform, target) else tool.replace(handler=None)


def _is_there(platform: Platform, id: str) -> bool:
    try:
        platform.get(id)
    except UnknownToolError:
        return installed_tool(id) is not None
    return True


def with_endpoint(
    tool: YamlTool[dict[str, object], object], endpoint: str
) -> YamlTool[dict[str, object], object]:
    """The tool as it is called at an endpoint, whatever else it says of how it is run."""
    return tool.replace(run=None, endpoint=endpoint, is_active=True)


def installed_tool(id: str) -> AnyTool | None:
    """The tool that an installed distribution offers under an id; None where none does."""
    from toolhaft.catalog.installed import Installed, load_offer  # noqa: PLC0415 -- few tools need it

    offer = next((offer for offer in Installed().offers if offer.id == id), None)
    return None if offer is None else load_offer(offer)


def _not_allowed(kind: str) -> str:
    return (
        f"the operator of this platform does not allow {kind} tools; it is allowed with: "
        f"toolhaft serve --allow-run {kind}"
    )


def _refusing(name: str, why: str) -> Callable[..., object]:
    def refuse(input: dict[str, object]) -> NoReturn:  # noqa: ARG001 -- the shape of a handler
        raise _before_anything(ToolAuthorizationError(f"{name} is not run here: {why}"))

    return refuse


def _standing_in(
    tool: YamlTool[dict[str, object], object], id: str, find: Callable[[str], AnyTool | None]
) -> AnyTool:
    """A tool that hands its calls on to another, on the same road."""
    nested = _Nested()

    async def stand_in(input: dict[str, object], context: ToolContext) -> ToolResult[object]:
        chain = (*_CHAIN.get(), tool.name)
        target = _found(chain, id, find)
        executor = nested.executor_for(target)
        token = _CHAIN.set(chain)
        try:
            result = await executor.aexecute(
                ToolCall(name=target.name, arguments=input),
                principal=context.principal,
                deadline=context.deadline,
            )
        finally:
            _CHAIN.reset(token)
        if not result.success:
            executor.new_run()  # attempts are counted where the model's call is
        return _handed_on(result)

    return tool.replace(handler=stand_in, isolation=None)


def _found(chain: tuple[str, ...], id: str, find: Callable[[str], AnyTool | None]) -> AnyTool:
    if id in chain and id != chain[-1]:
        way = " -> ".join((*chain, id))
        raise _before_anything(ToolExecutionError(f"{chain[0]} leads back to itself: {way}"))
    target = find(id)
    if target is None:
        raise _before_anything(
            ToolExecutionError(f"{chain[-1]} stands in for {id!r}, which is not on this platform")
        )
    return target


def _before_anything(error: ToolError) -> ToolError:
    error.nothing_happened = True
    return error


class _Nested:
    """The executors of the tool behind, one for each executor that calls come from."""

    __slots__ = ("_kept", "_lock")

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, str], tuple[AnyTool, ToolExecutor]] = OrderedDict()
        self._lock = Lock()

    def executor_for(self, tool: AnyTool) -> ToolExecutor:
        """An executor of the tool, with the session and the resources of the call around.

        What the tool behind does is then undone with that call.
        """
        around = CURRENT.get()
        setup = None if around is None else around.scope_inside().setup
        key = (id(tool), "" if setup is None else setup.id)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                shared: dict[str, Any] = {}
                if setup is not None:
                    # what it finds is opened where the model calls
                    shared = {"session": setup.session, "resources": setup.resources, "catalog": setup.finder}
                kept = self._kept[key] = (tool, ToolExecutor([tool], **shared))
                if len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)[1][1].end_workers()
        return kept[1]


def _handed_on(result: ToolResult[Any]) -> ToolResult[object]:
    """The answer of the tool behind, or its failure as one's own."""
    if result.success:
        return cast("ToolResult[object]", result.with_rest(repairs=(), feedback=()))
    failure = cast("Failure", result.failure)
    # without the advice: the call around has its own
    told = result.message.removesuffix(failure.advice).rstrip() or result.message
    error = _ERRORS.get(failure.kind, ToolExecutionError)(told)
    error.untrusted = result.untrusted
    error.nothing_happened = failure.outcome == "nothing_happened"
    raise error from failure.error
