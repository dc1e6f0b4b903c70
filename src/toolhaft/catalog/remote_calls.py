"""Calls a tool where it is published, with the key of that platform and no other.

Knows the platform's address and key; how an endpoint is called is known in `define`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.conversion import AnyTool
from toolhaft.core.ports import Resources
from toolhaft.core.result import ToolResult
from toolhaft.define.running.access import PlatformAccess
from toolhaft.define.yaml import YamlTool
from toolhaft.errors import ResourceMissingError

ThingT = TypeVar("ThingT")

Handler = Callable[[dict[str, object], ToolContext], ToolResult[object]]


def called_at(tool: YamlTool[dict[str, object], object], endpoint: str, url: str, key: str | None) -> AnyTool:
    """The tool as it is called at an endpoint of a platform, whatever it says of how it is run."""
    there = tool.replace(run=None, endpoint=endpoint, is_active=True)
    ask = cast("Handler", there.handler)
    access = PlatformAccess(url=url, key=key)

    def call(input: dict[str, object], context: ToolContext) -> ToolResult[object]:
        return ask(input, _with_access(context, access))

    return there.replace(handler=call, isolation=None)


class _Opened:
    """The resources of a call, with another platform in them."""

    __slots__ = ("_access", "_resources")

    def __init__(self, resources: Resources | None, access: PlatformAccess) -> None:
        self._resources = resources
        self._access = access

    def get(self, kind: type[ThingT]) -> ThingT:
        if kind is PlatformAccess:
            return cast("ThingT", self._access)
        if self._resources is None:
            raise ResourceMissingError("no resources were given")
        return self._resources.get(kind)


def _with_access(context: ToolContext, access: PlatformAccess) -> ToolContext:
    try:
        resources = context.resources
    except ResourceMissingError:
        resources = None
    return ToolContext(
        session=context.session,
        deadline=context.deadline,
        resources=_Opened(resources, access),
        principal=context.principal,
        call=context.call,
    )
