"""`POST /v3/tool/{id}`: runs a tool with the body as its arguments.

Knows requests and runners; does not know how a tool is run. Raw ASGI: most requests come here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

from toolhaft.catalog.shelf import Published
from toolhaft.core.call import ToolCall
from toolhaft.core.effect import Effect
from toolhaft.core.result import ToolResult
from toolhaft.define.running.trail import HEADER, LONGEST, TRAIL, read_trail
from toolhaft.errors import DefinitionError, ToolhaftError
from toolhaft.execute.failures import AFTERMATH
from toolhaft.serve.answers import Receive, Send, send_answer
from toolhaft.serve.bodies import ClientLeftError, media_type_of, read_body, refuse_type
from toolhaft.serve.callers import RUN, Caller, Visit
from toolhaft.serve.documents import unreadable
from toolhaft.serve.lines import Line, watched
from toolhaft.serve.outcomes import WHOLE, problem_of_result, value_body, whole_body
from toolhaft.serve.problems import Problem, wait_first
from toolhaft.serve.rates import Seats
from toolhaft.serve.runners import Runner, Runners
from toolhaft.serve.searches import Searches
from toolhaft.serve.settings import Settings
from toolhaft.serve.stock import AS_OPERATOR, Stock
from toolhaft.serve.waits import read_soon

_JSON: Final = b"application/json"
_TRAIL: Final = HEADER.lower().encode()
_KEY: Final = re.compile(rb"[!-~]{1,200}")


class Runs:
    """Runs what is asked for, within the limits of the platform."""

    def __init__(self, settings: Settings, stock: Stock, searches: Searches, *, url: str) -> None:
        self._settings = settings
        self._stock = stock
        self._runners = Runners(settings, searches, url=url)
        self._seats = Seats(settings.max_parallel, settings.max_parallel_per_key)
        self._tasks: set[asyncio.Task[Any]] = set()
        self.is_leaving = False
        """True once what runs is cancelled, since the platform stops."""

    async def answer(
        self,
        id: str,
        visit: Visit,
        receive: Receive,
        send: Send,
    ) -> None:
        """Run a tool and send its value, or the whole result where that is asked for.

        Raises:
            Problem: for everything that did not succeed.
            ToolhaftError: where the tool cannot be had.
        """
        headers, caller = visit.headers, visit.caller
        caller.need(RUN)
        given = headers.get(b"content-type")
        if given != _JSON or b"content-encoding" in headers:
            given = media_type_of(headers)
            if given != _JSON:
                raise refuse_type(given, "application/json")
        runner = self._known_runner(id, caller, visit.revision)
        if runner is None:
            runner = await self._runner(id, caller, visit.revision)
        settings = self._settings
        body = await read_body(
            receive, headers, most=settings.body_bytes, within_s=settings.request_timeout_s
        )
        _leave_trail(runner, headers.get(_TRAIL))
        AS_OPERATOR.set(caller.viewer.is_operator)
        call = ToolCall("", id, _text(body), idempotency_key=_key_of(headers))
        with self._seats.take(caller.key_id):
            result = await self._run(runner, call, visit.line or watched(receive))
        is_whole = WHOLE in headers.get(b"accept", b"")
        if not is_whole and not result.success:
            raise problem_of_result(result, call)
        body = whole_body(result) if is_whole else value_body(result)
        if runner.is_keeping or call.idempotency_key is not None:
            self._runners.note_kept(len(body))
        await send_answer(send, body, media_type=WHOLE if is_whole else _JSON)

    def cancel(self) -> None:
        """Cancel every call: the platform stops, and its grace is over."""
        self.is_leaving = True
        for task in self._tasks:
            task.cancel()

    def close(self) -> None:
        """End what works for calls."""
        self._runners.close()

    def _known_runner(self, id: str, caller: Caller, revision: int) -> Runner | None:
        """The runner of a tool that was run before and has not changed since."""
        published = self._stock.known(id, revision)
        if isinstance(published, Published) and caller.viewer.may_see(
            published.owner, published.org, published.share
        ):
            return self._runners.get(id, caller, published.revision)
        return None

    async def _runner(self, id: str, caller: Caller, revision: int) -> Runner:
        published = await self._stock.find(id, revision)
        viewer = caller.viewer
        if published is None or not viewer.may_see(published.owner, published.org, published.share):
            raise await read_soon(self._stock.unknown, id, viewer)
        version = published.revision
        try:
            tool = await read_soon(self._stock.tool_of, published)
        except DefinitionError as error:
            raise unreadable(published, error) from error
        # another request may have made it meanwhile
        return self._runners.get(id, caller, version) or self._runners.make(tool, caller, version)

    async def _run(self, runner: Runner, call: ToolCall, line: Line) -> ToolResult[Any]:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover -- a coroutine that runs has a task
            return await runner.run(call)
        self._tasks.add(task)
        try:
            if runner.effect is not Effect.IRREVERSIBLE:  # else nobody could tell what it had done by then
                if not line.is_open:
                    raise ClientLeftError
                line.on_left = task.cancel
            return await runner.run(call)
        except asyncio.CancelledError:
            if not self.is_leaving and line.is_open:
                raise
            task.uncancel()
            raise self._cancelled(runner, call) from None
        except ToolhaftError as error:  # seed 003 has a handler's deadline go through to its caller
            fix = "give the tool more time, or less to do"
            raise Problem(424, str(error), fix=fix, more={"kind": "failed"}) from error
        except (KeyboardInterrupt, SystemExit) as error:  # a signal is told to the server, never raised here
            raise _tried_to_end(runner, error) from error
        finally:
            line.on_left = None
            line.close()
            self._tasks.discard(task)

    def _cancelled(self, runner: Runner, call: ToolCall) -> Exception:
        if not self.is_leaving:
            return ClientLeftError()
        outcome, advice = AFTERMATH[runner.effect]
        return wait_first(
            503,
            f"the platform stopped while {call.name} ran. {advice}",
            5,
            kind="cancelled",
            outcome=outcome,
        )


def _tried_to_end(runner: Runner, error: BaseException) -> Problem:
    outcome, advice = AFTERMATH[runner.effect]
    return Problem(
        424,
        f"{runner.name} failed: {type(error).__name__}. {advice}",
        fix="let the tool give back a value, or raise an error",
        more={"kind": "failed", "outcome": outcome},
    )


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise Problem(400, "the body is not UTF-8", fix="send JSON, which is UTF-8") from None


def _key_of(headers: Mapping[bytes, bytes]) -> str | None:
    key = headers.get(b"idempotency-key")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise Problem(
            400, "the Idempotency-Key is none", fix="use 1 to 200 visible ASCII characters, new for each call"
        )
    return key.decode()


def _leave_trail(runner: Runner, header: bytes | None) -> None:
    """Note that the call came through here, unless it has done so before."""
    if header is None:
        TRAIL.set((runner.token,))
        return
    trail = read_trail(header.decode("latin-1"))
    if runner.token in trail:
        what = f"the call of {runner.name} leads back to itself: it came through here already"
    elif len(trail) >= LONGEST:
        what = f"the call of {runner.name} came through {len(trail)} tools already"
    else:
        TRAIL.set((*trail, runner.token))
        return
    fix = "let its endpoint, or its run.http.url, lead somewhere else"
    raise Problem(409, what, fix=fix, more={"kind": "failed"})
