"""Runs a call of the command line in this process: the tool, what it may touch, and how it is stopped.

Knows the project and the executor; what is printed of a result stands next door.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from time import monotonic
from typing import Any, Final, cast

from toolhaft.cli import output
from toolhaft.cli.call_answers import answer, answer_invalid, answer_preview
from toolhaft.cli.call_behind import own_hosts
from toolhaft.cli.call_progress import PATIENCE_S, Display
from toolhaft.cli.shell import Shell
from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import Progress
from toolhaft.core.limits import Deadline
from toolhaft.core.result import ToolResult
from toolhaft.execute import ToolExecutor
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.schema import InvalidArguments
from toolhaft.schema.json_value import JSONObject

Arguments = str | JSONObject
_ENDED_BY: Final = 128
"""What a shell adds to the number of the signal that ended a program."""
_ENDERS: Final = tuple(
    cast("int", getattr(signal, name)) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What ends a program beside Ctrl-C."""


def prepare(shell: Shell, id: str) -> AnyTool:
    """The tool of that id; what the project's own Python files define can be imported from now on.

    Raises:
        UnknownToolError: where there is none.
        DefinitionError: where its file, or what is installed, is broken.
    """
    root = str(shell.project.root)
    if root not in sys.path:
        sys.path.insert(0, root)
    return shell.catalog.get_tool(id)


def dry_run(shell: Shell, tool: AnyTool, arguments: Arguments, *, as_json: bool) -> int:
    """Check the arguments, and show what a call would send or run."""
    verdict = tool.validate(arguments)
    if isinstance(verdict, InvalidArguments):
        return answer_invalid(shell, tool, verdict, as_json=as_json)
    return answer_preview(shell, tool, verdict, as_json=as_json)


def run(shell: Shell, tool: AnyTool, arguments: Arguments, *, as_json: bool, timeout_s: float | None) -> int:
    """Run the tool, and print what comes of it. Returns the exit code."""
    call = ToolCall(name=tool.name, arguments=arguments)
    deadline = None if timeout_s is None else Deadline.after(timeout_s)
    display = Display(tool.name, color=shell.color)
    started = monotonic()
    with ToolExecutor([tool], resources=_resources(shell, tool), catalog=shell.catalog) as executor:
        running = _Running(executor, call, deadline, display)
        try:
            with _only_results_on_stdout():
                result = asyncio.run(running.watch())
        except (KeyboardInterrupt, asyncio.CancelledError):
            output.note(_cancelled(tool))
            return _ENDED_BY + (running.ended_by or signal.SIGINT)
        finally:
            display.close()
    return answer(shell, tool, result, duration_s=monotonic() - started, as_json=as_json)


class _Running:
    """One call under way."""

    def __init__(
        self, executor: ToolExecutor, call: ToolCall, deadline: Deadline | None, display: Display
    ) -> None:
        self._executor = executor
        self._call = call
        self._deadline = deadline
        self._display = display
        self.ended_by: int | None = None
        """The signal that ended it, but for Ctrl-C, which asyncio hears itself."""

    async def watch(self) -> AnyResult:
        """The result; what the call tells meanwhile is shown."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not on Windows
            for number in _ENDERS:
                loop.add_signal_handler(number, self._ender(number, asyncio.current_task()))
        opening = loop.call_later(PATIENCE_S, self._display.open) if self._display.is_wanted else None
        result: AnyResult = ToolResult(success=False)
        try:
            async for item in self._executor.astream(self._call, deadline=self._deadline):
                if isinstance(item, Progress):
                    self._display.tell(item)
                elif isinstance(item, ToolResult):
                    result = item
        finally:
            if opening is not None:
                opening.cancel()
        return result

    def _ender(self, number: int, task: asyncio.Task[Any] | None) -> Callable[[], None]:
        def end() -> None:
            self.ended_by = number
            if task is not None:
                task.cancel()

        return end


@contextmanager
def _only_results_on_stdout() -> Generator[None]:
    """What a tool prints goes to standard error: standard output is for the result."""
    if sys.stderr is None:  # the program was started with it closed
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def _resources(shell: Shell, tool: AnyTool) -> dict[type, object]:
    """What calls of this project may touch."""
    from toolhaft.define.running import Environment, PlatformAccess  # noqa: PLC0415 -- the same
    from toolhaft.define.running.settings import DEFAULT_URL  # noqa: PLC0415 -- not for a dry run

    project = shell.project
    resources: dict[type, object] = {
        Filesystem: HostFilesystem(project.root),
        Environment: Environment(file=project.env_file),
        PlatformAccess: PlatformAccess(url=project.platform_url or DEFAULT_URL, key=project.api_key),
    }
    with suppress(ImportError):  # tools that ask for the web say themselves that the extra `web` is missing
        from toolhaft.resources.http import HttpClient  # noqa: PLC0415 -- the same

        resources[HttpClient] = HttpClient(allow=[*project.http_allow, *own_hosts(shell, tool)])
    return resources


def _cancelled(tool: AnyTool) -> str:
    match tool.effect:
        case "read" | "reversible":
            return "cancelled: nothing was changed"
        case "idempotent":
            return "cancelled: files are as before; the call may be repeated safely"
        case _:
            return "cancelled: files are as before; what the tool did elsewhere is not known"
