"""`POST /v3/tool/{id}`: runs a tool with the body as its arguments.

Plain ASGI instead of Starlette: most requests come here, and it is faster.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

from toolhaft.catalog.published import PublishedTool
from toolhaft.core.call import ToolCall
from toolhaft.core.effect import Effect
from toolhaft.core.result import ToolResult
from toolhaft.define.running.platform_access import HOPS, HOPS_HEADER, MAX_HOPS, read_hops
from toolhaft.errors import DefinitionError, ToolhaftError
from toolhaft.execute.failures import OUTCOME_BY_EFFECT
from toolhaft.serve.call_responses import RESULT_MEDIA_TYPE, failure_problem, result_body, value_body
from toolhaft.serve.callers import RUN, Admission, Caller
from toolhaft.serve.disconnects import ClientConnection
from toolhaft.serve.documents import decode_body, unreadable_tool
from toolhaft.serve.dry_run import preview_call
from toolhaft.serve.limits import ParallelLimit
from toolhaft.serve.query import DRY_RUN, read_flag, read_query
from toolhaft.serve.request import ClientDisconnectedError, body_type, read_body, unsupported_type
from toolhaft.serve.responses import JSON, HttpProblem, Receive, Send, retry_later, send_response
from toolhaft.serve.runners import RunnerCache, ToolRunner
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.settings import Settings
from toolhaft.serve.storage_threads import read_in_thread
from toolhaft.serve.tool_cache import IS_OPERATOR_CALL, ToolCache

_TRAIL_HEADER: Final = HOPS_HEADER.lower().encode()
_IDEMPOTENCY_KEY: Final = re.compile(rb"[!-~]{1,200}")


class RunRoute:
    """Runs tools for callers, within the limits of the platform."""

    def __init__(
        self, settings: Settings, tool_cache: ToolCache, searches: SearchIndexes, *, url: str
    ) -> None:
        self._settings = settings
        self._tool_cache = tool_cache
        self._runners = RunnerCache(settings, searches, url=url)
        self._parallel = ParallelLimit(settings.max_parallel, settings.max_parallel_per_key)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_stopping = False
        """True once running calls are cancelled because the platform stops."""

    async def handle(
        self,
        id: str,
        admission: Admission,
        receive: Receive,
        send: Send,
        query_string: bytes = b"",
    ) -> None:
        """Run a tool and send its value, or the whole result if the Accept header requests it.

        Raises:
            HttpProblem: if the call did not succeed.
            ToolhaftError: if the tool cannot be loaded.
        """
        headers, caller = admission.headers, admission.caller
        caller.require_scope(RUN)
        dry_run = bool(query_string) and read_flag(read_query(query_string, (DRY_RUN,)))
        media_type = headers.get(b"content-type")
        if media_type != JSON or b"content-encoding" in headers:
            media_type = body_type(headers)
            if media_type != JSON:
                raise unsupported_type(media_type, "application/json")
        key = _idempotency_key(headers)
        if dry_run:
            await self._dry_run(id, admission, receive, send)
            return
        runner = self._cached_runner(id, caller, admission.revision)
        if runner is None:
            runner = await self._runner(id, caller, admission.revision)
        self._runners.keep(runner, key)
        settings = self._settings
        body = await read_body(
            receive, headers, max_bytes=settings.body_bytes, timeout_s=settings.request_timeout_s
        )
        _extend_trail(runner, headers.get(_TRAIL_HEADER))
        IS_OPERATOR_CALL.set(caller.viewer.is_operator)
        call = ToolCall("", id, decode_body(body), idempotency_key=key)
        self._parallel.acquire(caller.key_id)
        try:
            result = await self._run(runner, call, admission.connection or ClientConnection(receive))
        finally:
            self._parallel.release(caller.key_id)
        wants_result = RESULT_MEDIA_TYPE in headers.get(b"accept", b"")
        if not wants_result and not result.success:
            raise failure_problem(result, call)
        body = result_body(result) if wants_result else value_body(result)
        if runner.stores_results or key is not None:
            self._runners.count_stored_bytes(len(body))
        await send_response(send, body, media_type=RESULT_MEDIA_TYPE if wants_result else JSON)

    async def _dry_run(self, id: str, admission: Admission, receive: Receive, send: Send) -> None:
        """Check the arguments and permissions of a call as a run would, and send what it would do."""
        caller, settings = admission.caller, self._settings
        published = await self._tool_cache.find_visible(id, admission.revision, caller.viewer)
        body = await read_body(
            receive, admission.headers, max_bytes=settings.body_bytes, timeout_s=settings.request_timeout_s
        )
        call = ToolCall("", id, decode_body(body))
        try:
            tool = await read_in_thread(self._tool_cache.runnable_tool, published, is_called=False)
            is_allowed = self._tool_cache.may_run(published)
        except DefinitionError as error:
            raise unreadable_tool(published, error) from error
        self._parallel.acquire(caller.key_id)
        try:
            preview = await preview_call(
                tool,
                call,
                self._runners.principal(tool, caller),
                can_run=is_allowed,
                timeout_s=settings.call_timeout_s,
            )
        finally:
            self._parallel.release(caller.key_id)
        await send_response(send, preview)

    def cancel(self) -> None:
        """Cancel every call: the platform stops, and the grace period is over."""
        self.is_stopping = True
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        """Stop the workers of all runners."""
        self._runners.close()

    def _cached_runner(self, id: str, caller: Caller, revision: int) -> ToolRunner | None:
        """The runner of a tool that was run before and has not changed."""
        published = self._tool_cache.cached(id, revision)
        if isinstance(published, PublishedTool) and published.is_visible_to(caller.viewer):
            return self._runners.get(id, caller, published.revision)
        return None

    async def _runner(self, id: str, caller: Caller, revision: int) -> ToolRunner:
        published = await self._tool_cache.find_visible(id, revision, caller.viewer)
        version = published.revision
        try:
            tool = await read_in_thread(self._tool_cache.runnable_tool, published)
        except DefinitionError as error:
            raise unreadable_tool(published, error) from error
        # another request may have created it meanwhile
        return self._runners.get(id, caller, version) or self._runners.make(tool, caller, version)

    async def _run(self, runner: ToolRunner, call: ToolCall, connection: ClientConnection) -> ToolResult[Any]:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover -- a coroutine that runs has a task
            return await runner.run(call)
        self._tasks.add(task)
        try:
            if runner.effect is not Effect.IRREVERSIBLE:  # else cancelling leaves the outcome unknown
                if not connection.is_open:
                    raise ClientDisconnectedError
                connection.on_disconnect = task.cancel
            return await runner.run(call)
        except asyncio.CancelledError:
            if not self.is_stopping and connection.is_open:
                raise
            task.uncancel()
            raise self._cancellation(runner, call) from None
        except ToolhaftError as error:  # a handler's DeadlineExceededError reaches the caller of the executor
            fix = "raise the time limit of the tool, or send a smaller request"
            raise HttpProblem(424, str(error), fix=fix, where="tool", more={"kind": "failed"}) from error
        except (KeyboardInterrupt, SystemExit) as error:  # raised by the tool: signals go to the server
            raise _exit_attempt(runner, error) from error
        finally:
            connection.on_disconnect = None
            connection.stop_watching()
            self._tasks.discard(task)

    def _cancellation(self, runner: ToolRunner, call: ToolCall) -> Exception:
        if not self.is_stopping:
            return ClientDisconnectedError()
        outcome, advice = OUTCOME_BY_EFFECT[runner.effect]
        return retry_later(
            503,
            f"the platform stopped while {call.name} ran. {advice}",
            5,
            kind="cancelled",
            outcome=outcome,
        )


def _exit_attempt(runner: ToolRunner, error: BaseException) -> HttpProblem:
    outcome, advice = OUTCOME_BY_EFFECT[runner.effect]
    return HttpProblem(
        424,
        f"{runner.name} failed: {type(error).__name__}. {advice}",
        fix="make the tool return a value or raise an error",
        where="tool",
        more={"kind": "failed", "outcome": outcome},
    )


def _idempotency_key(headers: Mapping[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    if key is None:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise HttpProblem(
            400,
            "the Idempotency-Key is not valid",
            fix="use 1 to 200 visible ASCII characters, new for each call",
            where="header",
            path="idempotency-key",
        )
    return key.decode()


def _extend_trail(runner: ToolRunner, header: bytes | None) -> None:
    """Add this tool to those that the call has passed through; refuse it if that makes a loop."""
    if header is None:
        HOPS.set((runner.token,))
        return
    trail = read_hops(header.decode("latin-1"))
    if runner.token in trail:
        what = f"the call of {runner.name} leads back to itself: it passed through this tool already"
    elif len(trail) >= MAX_HOPS:
        what = f"the call of {runner.name} passed through {len(trail)} tools already"
    else:
        HOPS.set((*trail, runner.token))
        return
    fix = "change its endpoint, or its run.http.url"
    raise HttpProblem(409, what, fix=fix, more={"kind": "failed"})
