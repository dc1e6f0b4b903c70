"""What runs the calls of one tool for one caller, kept from call to call.

Knows executors; does not know HTTP.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.limits import Deadline
from toolhaft.core.principal import Principal
from toolhaft.core.result import ToolResult
from toolhaft.define.running.access import PlatformAccess
from toolhaft.define.running.environment import Environment
from toolhaft.define.running.trail import token_of
from toolhaft.execute.executor import ToolExecutor
from toolhaft.execute.steps.turn import takes_turns
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.resources.http import HttpClient
from toolhaft.serve.callers import Caller
from toolhaft.serve.searches import Searches
from toolhaft.serve.settings import Settings

_MOST_RUNNERS: Final = 1_000
_MOST_SPARE: Final = 16
_MOST_KEPT_BYTES: Final = 200_000_000
_LONGEST_NAME: Final = 200
_NOWHERE: Final = PlatformAccess(url="http://platform.invalid")
"""A platform has no other platform whose key it would send along, and no address that it opens by itself."""


class Runner:
    """The executors of one tool for one caller.

    A call is a run of its own: how often it failed before is the client's to count. Calls that would take
    turns, although nothing that they share is undone together, get an executor each.
    """

    __slots__ = (
        "_busy",
        "_call_timeout_s",
        "_first",
        "_make",
        "_spare",
        "effect",
        "is_keeping",
        "name",
        "token",
        "version",
    )

    def __init__(
        self,
        tool: AnyTool,
        make: Callable[[AnyTool], ToolExecutor],
        *,
        version: object,
        call_timeout_s: float,
        token: str,
    ) -> None:
        if tool.timeout_s > call_timeout_s:
            tool = tool.replace(timeout_s=call_timeout_s)
        self.name = tool.name
        self.effect = tool.effect
        self.version = version
        self.token = token
        self._make = partial(make, tool)
        self._first = self._make()
        has_turns = takes_turns(tool)
        self._call_timeout_s = call_timeout_s if has_turns else None
        # limits and keys of the tool's own are counted by one executor
        is_alone = tool.rate is not None or tool.max_parallel is not None or bool(tool.idempotency)
        self._spare: list[ToolExecutor] | None = (
            [] if has_turns and tool.effect is Effect.IRREVERSIBLE and not is_alone else None
        )
        self.is_keeping = tool.cache_s is not None or bool(tool.idempotency)
        self._busy = 0

    @property
    def is_busy(self) -> bool:
        """True while a call runs."""
        return self._busy > 0

    async def run(self, call: ToolCall) -> ToolResult[Any]:
        """The result of a call; one that is cancelled is undone as its effect says."""
        executor = self._first
        is_own = self._busy > 0 and self._spare is not None and call.idempotency_key is None
        if is_own and self._spare is not None:
            executor = self._spare.pop() if self._spare else self._make()
        self._busy += 1
        limit_s = self._call_timeout_s
        try:
            result = await executor.aexecute(
                call, deadline=None if limit_s is None else Deadline.after(limit_s)
            )
        except asyncio.CancelledError:
            executor.new_run()
            raise
        finally:
            self._busy -= 1
        if not result.success:
            executor.new_run()
        if is_own and self._spare is not None and len(self._spare) < _MOST_SPARE:
            self._spare.append(executor)
        return result

    def close(self) -> None:
        """End what works for it."""
        for executor in (self._first, *(self._spare or ())):
            executor.end_workers()


class Runners:
    """The runners that were used last."""

    def __init__(self, settings: Settings, searches: Searches, *, url: str) -> None:
        self._url = url
        self._searches = searches
        self._call_timeout_s = settings.call_timeout_s
        self._files = settings.files
        self._shared: dict[type, object] = {
            HttpClient: HttpClient(allow=settings.http_allow),
            Environment: Environment(names=settings.allow_env, file=settings.env_file),
            PlatformAccess: _NOWHERE,
        }
        self._kept_bytes = 0
        self._folders: dict[str, HostFilesystem] = {}
        self._runners: OrderedDict[tuple[str, str], Runner] = OrderedDict()

    def get(self, id: str, caller: Caller, version: object) -> Runner | None:
        """The runner of this version of a tool, where there is one already."""
        runner = self._runners.get((id, caller.identity))
        return runner if runner is not None and runner.version == version else None

    def make(self, tool: AnyTool, caller: Caller, version: object) -> Runner:
        """A runner, which takes the place of one of another version."""
        viewer = caller.viewer
        scopes = viewer.scopes | frozenset(tool.requires) if viewer.is_operator else viewer.scopes
        principal = Principal(id=viewer.owner, scopes=scopes)
        resources = self._resources(viewer.owner)
        finder = self._searches.finder_for(viewer)
        runner = Runner(
            tool,
            lambda tool: ToolExecutor([tool], principal=principal, resources=resources, catalog=finder),
            version=version,
            call_timeout_s=self._call_timeout_s,
            token=token_of(self._url, tool.name),
        )
        key = (tool.name, caller.identity)
        before = self._runners.pop(key, None)
        if before is not None and not before.is_busy:
            before.close()
        self._runners[key] = runner
        if len(self._runners) > _MOST_RUNNERS:
            self._drop_one()
        return runner

    def note_kept(self, size_bytes: int) -> None:
        """A result of this size is remembered; where all of them are too much, all are forgotten."""
        self._kept_bytes += size_bytes
        if self._kept_bytes > _MOST_KEPT_BYTES:
            self._kept_bytes = 0
            for key in [key for key, runner in self._runners.items() if not runner.is_busy]:
                self._runners.pop(key).close()

    def close(self) -> None:
        """End all of them."""
        while self._runners:
            self._runners.popitem()[1].close()

    def _drop_one(self) -> None:
        """The oldest that does nothing now."""
        for key, runner in self._runners.items():
            if not runner.is_busy:
                del self._runners[key]
                runner.close()
                return

    def _resources(self, owner: str) -> dict[type, object]:
        if self._files is None:
            return self._shared
        if owner not in self._folders:
            # one file system a folder: two would not know of each other's changes
            folder = Path(self._files, _folder_of(owner))
            folder.mkdir(parents=True, exist_ok=True)
            self._folders[owner] = HostFilesystem(folder)
        return {**self._shared, Filesystem: self._folders[owner]}


def _folder_of(owner: str) -> str:
    """A name that no two owners share, and that leads nowhere else."""
    if not owner:
        return "operator"
    name = quote(owner, safe="")
    return f"owner-{name}" if len(name) <= _LONGEST_NAME else f"digest-{sha256(owner.encode()).hexdigest()}"
