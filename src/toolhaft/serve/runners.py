"""Keeps the executors that run calls: one runner per tool and caller, reused from call to call."""

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
from toolhaft.define.running.environment import Environment
from toolhaft.define.running.platform_access import PlatformAccess, hop_token
from toolhaft.execute.executor import ToolExecutor
from toolhaft.execute.steps.limit import takes_turns
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.resources.http import HttpClient
from toolhaft.serve.callers import Caller
from toolhaft.serve.responses import retry_later
from toolhaft.serve.search import SearchIndexes, ViewerToolFinder
from toolhaft.serve.settings import Settings

_MAX_RUNNERS: Final = 1_000
_MAX_IDLE_EXECUTORS: Final = 16
_MAX_KEPT_RUNNERS: Final = 10_000
"""Runners that know used idempotency keys, of about 15 KB each."""
_MAX_STORED_BYTES: Final = 200_000_000
_MAX_NAME_CHARS: Final = 200
_NO_PLATFORM: Final = PlatformAccess(url="http://platform.invalid")
"""Covers no URL, so that tools send no platform key and get no access to a platform's host."""


class ToolRunner:
    """The executors of one tool for one caller.

    The client decides on the next call, so failed attempts are not counted from call to call. One executor
    would run calls of an irreversible tool with a context one after the other, so calls that overlap get
    separate executors.
    """

    __slots__ = (
        "_busy",
        "_call_timeout_s",
        "_has_keys",
        "_idle",
        "_main",
        "_make",
        "effect",
        "is_kept",
        "name",
        "stores_results",
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
        if tool.timeout_s is None or tool.timeout_s > call_timeout_s:
            keeps_stall = tool.stall_s is not None and tool.stall_s <= call_timeout_s
            tool = tool.replace(timeout_s=call_timeout_s, stall_s=tool.stall_s if keeps_stall else None)
        self.name = tool.name
        self.effect = tool.effect
        self.version = version
        self.token = token
        self._make = partial(make, tool)
        self._main = self._make()
        is_serial = takes_turns(tool)
        self._call_timeout_s = call_timeout_s if is_serial else None
        # a tool's own limits and idempotency keys must be counted by one executor
        needs_one_executor = tool.rate is not None or tool.max_parallel is not None or bool(tool.idempotency)
        self._idle: list[ToolExecutor] | None = (
            [] if is_serial and tool.effect is Effect.IRREVERSIBLE and not needs_one_executor else None
        )
        self.stores_results = tool.cache_s is not None or bool(tool.idempotency)
        self._has_keys = bool(tool.idempotency)
        self.is_kept = False
        """True once it knows an idempotency key that must never be used again."""
        self._busy = 0

    @property
    def is_busy(self) -> bool:
        """True while a call runs."""
        return self._busy > 0

    def must_be_kept(self, key: str | None) -> bool:
        """True if a call with this key may never run again."""
        has_key = self._has_keys or key is not None
        return has_key and self.effect in (Effect.IRREVERSIBLE, Effect.REVERSIBLE)

    async def run(self, call: ToolCall) -> ToolResult[Any]:
        """Run a call; one that is cancelled is rolled back as its effect says."""
        executor = self._main
        is_extra = self._busy > 0 and self._idle is not None and call.idempotency_key is None
        if is_extra and self._idle is not None:
            executor = self._idle.pop() if self._idle else self._make()
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
        if is_extra and self._idle is not None and len(self._idle) < _MAX_IDLE_EXECUTORS:
            self._idle.append(executor)
        return result

    def forget_results(self) -> None:
        """Free the memory of recorded results; keys that must never be used again stay."""
        self._main.forget_results()  # calls with a key or a cached result get no other executor

    def close(self) -> None:
        """Stop the workers of its executors."""
        for executor in (self._main, *(self._idle or ())):
            executor.end_workers()


class RunnerCache:
    """The runners that were created last."""

    def __init__(self, settings: Settings, searches: SearchIndexes, *, url: str) -> None:
        self._url = url
        self._searches = searches
        self._call_timeout_s = settings.call_timeout_s
        self._files = settings.files
        self._shared: dict[type, object] = {
            HttpClient: HttpClient(allow=settings.http_allow),
            Environment: Environment(bindings=settings.allow_env, file=settings.env_file),
            PlatformAccess: _NO_PLATFORM,
        }
        self._stored_bytes = 0
        self._kept = 0
        self._folders: dict[str, HostFilesystem] = {}
        self._runners: OrderedDict[tuple[str, str], ToolRunner] = OrderedDict()

    def get(self, id: str, caller: Caller, version: object) -> ToolRunner | None:
        """The runner of this version of a tool, if there is one."""
        runner = self._runners.get((id, caller.identity))
        return runner if runner is not None and runner.version == version else None

    def make(self, tool: AnyTool, caller: Caller, version: object) -> ToolRunner:
        """Create a runner, which replaces the one of another version."""
        viewer = caller.viewer
        principal = self.principal(tool, caller)
        resources = self._resources(viewer.owner)
        finder = ViewerToolFinder(self._searches, viewer)
        runner = ToolRunner(
            tool,
            lambda tool: ToolExecutor([tool], principal=principal, resources=resources, catalog=finder),
            version=version,
            call_timeout_s=self._call_timeout_s,
            token=hop_token(self._url, tool.name),
        )
        key = (tool.name, caller.identity)
        replaced = self._runners.pop(key, None)
        if replaced is not None:
            self._kept -= replaced.is_kept
            if not replaced.is_busy:
                replaced.close()
        self._runners[key] = runner
        if len(self._runners) - self._kept > _MAX_RUNNERS:
            self._evict()
        return runner

    @staticmethod
    def principal(tool: AnyTool, caller: Caller) -> Principal:
        """The caller as a principal; an operator has every scope that the tool requires."""
        viewer = caller.viewer
        scopes = viewer.scopes | frozenset(tool.requires) if viewer.is_operator else viewer.scopes
        return Principal(id=viewer.owner, scopes=scopes)

    def keep(self, runner: ToolRunner, key: str | None) -> None:
        """Keep the runner of a call whose key must never be used again; directly after `get` or `make`.

        Raises:
            HttpProblem: 429 if too many are kept; runners that are kept already take new keys.
        """
        if runner.is_kept or not runner.must_be_kept(key):
            return
        if self._kept >= _MAX_KEPT_RUNNERS:
            message = "this platform keeps no further idempotency keys until it is started again"
            fix = "ask its operator to start it again"
            if not runner.must_be_kept(None):
                fix += ", or send the call without a key"
            raise retry_later(429, message, 3_600, fix=fix, kind="rate")
        runner.is_kept = True
        self._kept += 1

    def count_stored_bytes(self, size_bytes: int) -> None:
        """Count a result that an executor stores; beyond the limit, all recorded results go."""
        self._stored_bytes += size_bytes
        if self._stored_bytes > _MAX_STORED_BYTES:
            self._stored_bytes = 0
            for runner in self._runners.values():
                runner.forget_results()

    def close(self) -> None:
        """Close all runners."""
        while self._runners:
            self._runners.popitem()[1].close()

    def _evict(self) -> None:
        """Close the oldest runner that is neither busy nor kept."""
        for key, runner in self._runners.items():
            if not runner.is_busy and not runner.is_kept:
                del self._runners[key]
                runner.close()
                return

    def _resources(self, owner: str) -> dict[type, object]:
        if self._files is None:
            return self._shared
        if owner not in self._folders:
            # one HostFilesystem per folder: two would not see each other's uncommitted changes
            folder = Path(self._files, _folder_name(owner))
            folder.mkdir(parents=True, exist_ok=True)
            self._folders[owner] = HostFilesystem(folder)
        return {**self._shared, Filesystem: self._folders[owner]}


def _folder_name(owner: str) -> str:
    """A folder name that no two owners share, and that is a plain name whatever the owner's is."""
    if not owner:
        return "operator"
    name = quote(owner, safe="")
    return f"owner-{name}" if len(name) <= _MAX_NAME_CHARS else f"digest-{sha256(owner.encode()).hexdigest()}"
