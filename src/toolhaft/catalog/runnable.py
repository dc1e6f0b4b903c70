"""Makes a published tool callable: with its own `run`, its endpoint, or the tool that it forwards to."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import replace
from threading import Lock
from typing import Any, Final, NoReturn, TypeVar, cast
from urllib.parse import quote

from toolhaft.catalog.addresses import tool_id_at
from toolhaft.catalog.installed import installed_tool, is_installed
from toolhaft.catalog.platform import Platform, platform_of
from toolhaft.catalog.project import Project
from toolhaft.catalog.published import AnyYamlTool, PublishedTool
from toolhaft.core.call import ToolCall
from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.events import Beat, Chunk, Progress
from toolhaft.core.ports import ResourceKind, Resources
from toolhaft.core.result import Failure, ToolResult
from toolhaft.define.running.endpoint import InProcessEndpoint
from toolhaft.define.running.environment import project_of
from toolhaft.define.running.http_handler import HttpHandler
from toolhaft.define.running.platform_access import PlatformAccess
from toolhaft.define.running.platform_settings import DEFAULT_URL, RUN_PATH
from toolhaft.define.running.program import ProgramHandler
from toolhaft.define.yaml import parse_tool, tool_fields
from toolhaft.errors import (
    ConfigError,
    DefinitionError,
    ResourceMissingError,
    StorageError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
    UnknownToolError,
)
from toolhaft.execute.active_call import current_executor
from toolhaft.execute.executor import ToolExecutor

ALL_KINDS: Final = frozenset(("argv", "http", "python"))
"""The kinds of `run` that are allowed if publisher and caller are the same person."""
_MAX_EXECUTORS: Final = 32

_ResourceT = TypeVar("_ResourceT")
_FindTool = Callable[[str], AnyTool | None]

_FORWARDING: ContextVar[tuple[str, ...]] = ContextVar("toolhaft_forwarding", default=())
"""The names of the tools that forward the current call, the outermost first."""
_ERRORS: Final[Mapping[str, type[ToolError]]] = {
    "invalid_arguments": ToolValidationError,
    "not_allowed": ToolAuthorizationError,
    "timeout": ToolTimeoutError,
    "deadline": ToolTimeoutError,
}


def make_runnable(
    published: PublishedTool,
    *,
    platform_url: str,
    find_published: _FindTool,
    kinds: frozenset[str] = frozenset({"http"}),
    find_installed: _FindTool | None = None,
    folder: str | os.PathLike[str] | None = None,
    why_not: str | None = None,
) -> AnyTool:
    """The tool with a handler, or without one if there is nothing to run.

    Args:
        published: the tool as the platform stores it.
        platform_url: the platform's own address, without a trailing slash.
        find_published: returns the platform's tool of another id, to which this one may forward.
        kinds: the kinds of `run` that are allowed; a call of any other is refused.
        find_installed: returns the installed tool of an id; by default from Python entry points.
        folder: the tool runs as if its file were in this folder; None for no folder.
        why_not: the reason in a refusal; by default, that the operator does not allow it.

    Raises:
        DefinitionError: if this version cannot read its text.
    """
    tool = published.tool
    if folder is not None:
        tool = parse_tool(published.text, f"{published.id}.yaml", folder=folder)
    if tool.is_active_in_file is False:
        return tool
    if tool.run is not None:
        if tool.run.kind in kinds:
            return _with_owner(tool, published.owner)
        return tool.replace(
            handler=_refusing(tool.name, why_not or _not_allowed(tool.run.kind)), isolation=None
        )
    installed = find_installed or installed_tool
    target = tool_id_at(platform_url, published.upstream)
    if published.upstream and target is None:
        return _with_endpoint(tool, published.upstream)
    if target is None or target == published.id:
        exists = installed(published.id) is not None
        return _forwarding(tool, published.id, installed) if exists else tool.replace(handler=None)
    # the target is looked up at each call: it may itself forward, even back to this tool
    return _forwarding(tool, target, lambda id: find_published(id) or installed(id))


def _with_owner(tool: AnyYamlTool, owner: str) -> AnyYamlTool:
    """The tool whose handler uses the environment variables of the tool's owner only."""
    handler: object = tool.handler
    if not isinstance(handler, HttpHandler | ProgramHandler):
        return tool
    return tool.replace(handler=replace(handler, owner=owner))


def run_in_process(tool: AnyYamlTool, platform: Platform | None) -> AnyYamlTool:
    """The tool of a project's file, run in this process where it needs no server.

    - On the embedded platform, an endpoint at the default address names the tool to run.
    - In a project with another platform, such a file was copied from elsewhere: the installed tool of that id
      is run, if there is one.
    - A clone of an installed tool whose endpoint is on another platform was copied, too: that tool is run.

    Raises:
        DefinitionError: if the tool at the endpoint cannot be loaded.
    """
    if tool.run is not None or not tool.is_active:
        return tool
    target = tool_id_at(DEFAULT_URL, tool.endpoint)
    if target is None or platform is None or not platform.is_embedded:
        if platform is not None and tool_id_at(platform.url, tool.endpoint) is not None:
            return tool
        is_here = _is_installed_clone(tool) if target is None else is_installed(target)
        return _forwarding(tool, target or tool.name, installed_tool) if is_here else tool

    def find(id: str) -> AnyTool | None:
        try:
            return platform.runnable(id)
        except UnknownToolError:
            return installed_tool(id)

    found = find(target)
    is_run = found is not None and found.is_active
    return _forwarding(tool, target, find) if is_run else tool.replace(handler=None)


def _is_installed_clone(tool: AnyYamlTool) -> bool:
    """True for a file that `tool get` wrote for an installed tool, whatever platform it was written on."""
    is_of_a_platform = str(tool.endpoint).endswith(f"{RUN_PATH}{tool.name}") and tool.updated_at is None
    if not is_of_a_platform or not is_installed(tool.name):
        return False
    from toolhaft.catalog.yaml_export import activated_yaml  # noqa: PLC0415 -- few files need it

    try:
        clone = activated_yaml(cast("AnyTool", installed_tool(tool.name)), id=tool.name, url=DEFAULT_URL)
    except DefinitionError:  # it cannot be loaded here
        return False
    changes = {"endpoint": None, "is_active": None, "share": "private"}
    ours, theirs = (tool_fields(one.replace(**changes)) for one in (tool, parse_tool(clone.text)))
    return ours == theirs


def run_file(tool: AnyYamlTool) -> AnyYamlTool:
    """The tool of a file as the catalog of its project runs it: see `FileRunner` in `core.ports`."""
    try:
        platform = platform_of(Project.at(project_of(tool.folder)))
        try:
            return run_in_process(tool, platform)
        finally:
            platform.close()  # a call opens it again
    except (ConfigError, StorageError, ImportError):  # the call reports it
        return tool


def _with_endpoint(tool: AnyYamlTool, endpoint: str) -> AnyYamlTool:
    """The tool called at an endpoint, even if it has a `run`."""
    return tool.replace(run=None, endpoint=endpoint, is_active=True)


def call_on_platform(tool: AnyYamlTool, url: str, key: str | None) -> AnyTool:
    """The tool called at its endpoint on a remote platform, with that platform's key and no other.

    A tool that is not active there is returned without a handler.
    """
    if not tool.is_active:
        return tool
    remote = _with_endpoint(tool, f"{url}{RUN_PATH}{quote(tool.name, safe='')}")
    handler = cast("Callable[[dict[str, object], ToolContext], ToolResult[object]]", remote.handler)
    access = PlatformAccess(url=url, key=key)

    def call(input: dict[str, object], context: ToolContext) -> ToolResult[object]:
        return handler(input, _with_access(context, access))

    return remote.replace(handler=call, isolation=None)


class _PlatformResources:
    """The resources of a call, with the address and key of another platform."""

    __slots__ = ("_access", "_resources")

    def __init__(self, resources: Resources | None, access: PlatformAccess) -> None:
        self._resources = resources
        self._access = access

    def get(self, kind: ResourceKind[_ResourceT]) -> _ResourceT:
        if kind is PlatformAccess:
            return cast("_ResourceT", self._access)
        if self._resources is None:
            raise ResourceMissingError("no resources were given")
        return self._resources.get(kind)

    def __getitem__(self, kind: ResourceKind[_ResourceT]) -> _ResourceT:
        return self.get(kind)

    def __contains__(self, kind: type) -> bool:
        return kind is PlatformAccess or (self._resources is not None and kind in self._resources)


def _with_access(context: ToolContext, access: PlatformAccess) -> ToolContext:
    try:
        resources = context.resources
    except ResourceMissingError:
        resources = None
    return context.with_resources(_PlatformResources(resources, access))


def _not_allowed(kind: str) -> str:
    return (
        f"the operator of this platform does not allow {kind} tools; it is allowed with: "
        f"toolhaft serve --allow-run {kind}"
    )


def _refusing(name: str, why: str) -> Callable[..., object]:
    def refuse(input: dict[str, object]) -> NoReturn:  # noqa: ARG001 -- the signature of a handler
        raise _without_effect(ToolAuthorizationError(f"{name} is not run here: {why}"))

    return refuse


def _forwarding(tool: AnyYamlTool, id: str, find: _FindTool) -> AnyYamlTool:
    """A tool that forwards its calls to another, through a call pipeline of that tool."""
    return tool.replace(handler=_Forwarder(tool.name, id, find), isolation=None)


class _Forwarder(InProcessEndpoint):
    """The handler of a tool that forwards its calls to the tool of an id."""

    __slots__ = ("_executors", "_find", "_id", "_name")

    def __init__(self, name: str, id: str, find: _FindTool) -> None:
        self._name = name
        self._id = id
        self._find = find
        self._executors = _Executors()

    async def __call__(self, input: dict[str, object], context: ToolContext) -> ToolResult[object]:
        chain = (*_FORWARDING.get(), self._name)
        target = _find_target(chain, self._id, self._find)
        executor = self._executors.executor_for(target)
        token = _FORWARDING.set(chain)
        try:
            call = ToolCall(name=target.name, arguments=input)
            result = await _run_and_report(executor, call, context)
        finally:
            _FORWARDING.reset(token)
        if not result.success:
            executor.new_run()  # attempts are counted at the outer call
        return _forwarded_result(result)


async def _run_and_report(executor: ToolExecutor, call: ToolCall, context: ToolContext) -> ToolResult[Any]:
    """The result of a call; its beats and its progress are reported as those of the outer call."""
    if executor.tools[call.name].context_name is None:  # without a context it reports nothing
        return await executor.aexecute(call, principal=context.principal, deadline=context.deadline)
    stream = executor.astream(call, principal=context.principal, deadline=context.deadline)
    async with aclosing(
        cast("AsyncGenerator[Beat | Chunk | Progress | ToolResult[Any], None]", stream)
    ) as items:
        async for item in items:
            if isinstance(item, ToolResult):
                return item
            if isinstance(item, Progress):
                context.progress(item.done, item.total, item.message)
            else:
                context.beat()
    raise AssertionError("a stream ends with the result")


def _find_target(chain: tuple[str, ...], id: str, find: _FindTool) -> AnyTool:
    if id in chain and id != chain[-1]:
        path = " -> ".join((*chain, id))
        raise _without_effect(ToolExecutionError(f"{chain[0]} forwards back to itself: {path}"))
    target = find(id)
    if target is None:
        raise _without_effect(
            ToolExecutionError(f"{chain[-1]} forwards to {id!r}, which is not on this platform")
        )
    return target


def _without_effect(error: ToolError) -> ToolError:
    error.nothing_happened = True
    return error


class _Executors:
    """The executors of the tools that a call is forwarded to, one per calling executor."""

    __slots__ = ("_executors", "_lock")

    def __init__(self) -> None:
        self._executors: OrderedDict[tuple[int, str], tuple[AnyTool, ToolExecutor]] = OrderedDict()
        self._lock = Lock()

    def executor_for(self, tool: AnyTool) -> ToolExecutor:
        """An executor of the tool with the session and resources of the outer call.

        A rollback of the outer call then also undoes the effects of this tool.
        """
        current = current_executor()
        key = (id(tool), "" if current is None else current.id)
        with self._lock:
            known = self._executors.get(key)
            if known is None:
                # its catalog is shared too: tools found there are added to the executor that the model uses
                shared = {} if current is None else current.options
                known = self._executors[key] = (tool, ToolExecutor([tool], **shared))
                if len(self._executors) > _MAX_EXECUTORS:
                    self._executors.popitem(last=False)[1][1].end_workers()
        return known[1]


def _forwarded_result(result: ToolResult[Any]) -> ToolResult[object]:
    """The result of the inner tool; its failure is raised again."""
    if result.success:
        return cast("ToolResult[object]", result.with_fields(repairs=(), feedback=()))
    failure = cast("Failure", result.failure)
    # without the advice: the outer call adds its own
    message = result.message.removesuffix(failure.advice).rstrip() or result.message
    error = _ERRORS.get(failure.kind, ToolExecutionError)(message)
    error.untrusted = result.untrusted
    error.nothing_happened = failure.outcome == "nothing_happened"
    raise error from failure.cause
