"""Runs a call in this process: loads the tool, shows progress on a terminal, and handles signals."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from time import monotonic
from typing import Any, Final, cast

from toolhaft.cli import output
from toolhaft.cli.agreements import environment_for_call
from toolhaft.cli.call_output import print_invalid, print_preview, print_result
from toolhaft.cli.forwarding import local_hosts
from toolhaft.cli.shell import Shell
from toolhaft.core.call import ToolCall
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.events import Progress
from toolhaft.core.limits import Deadline
from toolhaft.core.result import ToolResult
from toolhaft.execute import ToolExecutor
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.schema import InvalidArguments
from toolhaft.schema.json_text import read_object
from toolhaft.schema.json_value import JSONObject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.progress import Progress as Bar


SHOW_AFTER_S: Final = 0.4
"""A call that ends sooner shows no progress, to avoid flicker."""
_MAX_MESSAGE_CHARS: Final = 60


class ProgressDisplay:
    """A progress line on standard error; shown only on a terminal.

    Args:
        name: the name of the tool.
        color: False to print without colors.
    """

    def __init__(self, name: str, *, color: bool) -> None:
        self._name = output.printable(name)
        self._color = color
        self._bar: Bar | None = None
        self._last: Progress | None = None
        self._is_closed = False

    @property
    def is_visible(self) -> bool:
        """True on a terminal."""
        return output.is_terminal(sys.stderr)

    def update(self, progress: Progress) -> None:
        """Show the progress; the first report opens the line."""
        self._last = progress
        self.open()
        if self._bar is not None:
            self._draw(self._bar, progress)

    def open(self) -> None:
        """Show the line."""
        if self._bar is not None or self._is_closed or not self.is_visible:
            return
        from rich.progress import (
            BarColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Made

        self._bar = Made(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[share]}", markup=False),
            TimeElapsedColumn(),
            console=output.console(color=self._color, stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._bar.add_task(self._name, total=None, share="")
        self._bar.start()

    def close(self) -> None:
        """Remove the line."""
        self._is_closed = True
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self, bar: Bar, progress: Progress) -> None:
        message = output.printable(" ".join(progress.message.split()))[:_MAX_MESSAGE_CHARS]
        share = "" if progress.done is None else f"{progress.done:g}"
        if share and progress.total is not None:
            share += f"/{progress.total:g}"
        bar.update(
            bar.task_ids[0],
            completed=progress.done or 0,
            total=progress.total,
            description=f"{self._name}: {message}" if message else self._name,
            share=share,
        )


CallArguments = str | JSONObject
_SIGNAL_EXIT: Final = 128
"""A program ended by a signal exits with this plus the number of the signal."""
_END_SIGNALS: Final = tuple(
    cast("int", getattr(signal, name)) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a program, other than Ctrl-C."""


def load_tool(shell: Shell, id: str) -> AnyTool:
    """Load the tool of that id; no code of the project is imported.

    Raises:
        UnknownToolError: if there is none.
        DefinitionError: if its file, or the installed tool, is broken.
    """
    return shell.catalog.get_tool(id)


def dry_run(shell: Shell, tool: AnyTool, arguments: CallArguments, *, as_json: bool) -> int:
    """Validate the arguments, and show what a call would send or run."""
    contract = tool.input_contract
    verdict = contract.read_once(arguments)
    if isinstance(verdict, InvalidArguments):
        return print_invalid(shell, tool, verdict, as_json=as_json)
    given = read_object(arguments) or {} if verdict.given is None else verdict.given
    checked = contract.defaults.add(given)
    return print_preview(shell, tool, checked, verdict.repairs, as_json=as_json)


def run(
    shell: Shell, tool: AnyTool, arguments: CallArguments, *, as_json: bool, timeout_s: float | None
) -> int:
    """Run the tool and print its result; returns the exit code.

    Raises:
        CommandError: if it would send variables that the user has not agreed to.
    """
    verdict = tool.validate(arguments)
    if isinstance(verdict, InvalidArguments):
        return print_invalid(shell, tool, verdict, as_json=as_json)
    call = ToolCall(name=tool.name, arguments=arguments)
    deadline = None if timeout_s is None else Deadline.after(timeout_s)
    display = ProgressDisplay(tool.name, color=shell.color)
    started = monotonic()
    resources = _resources(shell, tool)
    with ToolExecutor([tool], resources=resources, catalog=shell.catalog, max_found_tools=0) as executor:
        running = _RunningCall(executor, call, deadline, display)
        try:
            with _redirect_tool_output():
                result = asyncio.run(running.run())
        except (KeyboardInterrupt, asyncio.CancelledError):
            output.print_note(_cancel_message(tool))
            return _SIGNAL_EXIT + (running.ended_by or signal.SIGINT)
        finally:
            display.close()
    return print_result(shell, tool, result, duration_s=monotonic() - started, as_json=as_json)


class _RunningCall:
    """A call that is running."""

    def __init__(
        self, executor: ToolExecutor, call: ToolCall, deadline: Deadline | None, display: ProgressDisplay
    ) -> None:
        self._executor = executor
        self._call = call
        self._deadline = deadline
        self._display = display
        self.ended_by: int | None = None
        """The signal that ended it, other than Ctrl-C, which asyncio handles."""

    async def run(self) -> AnyResult:
        """Run the call, and show its progress."""
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not on Windows
            for number in _END_SIGNALS:
                loop.add_signal_handler(number, self._end_handler(number, asyncio.current_task()))
        timer = loop.call_later(SHOW_AFTER_S, self._display.open) if self._display.is_visible else None
        result: AnyResult = ToolResult(success=False)
        try:
            async for item in self._executor.astream(self._call, deadline=self._deadline):
                if isinstance(item, Progress):
                    self._display.update(item)
                elif isinstance(item, ToolResult):
                    result = item
        finally:
            if timer is not None:
                timer.cancel()
        return result

    def _end_handler(self, number: int, task: asyncio.Task[Any] | None) -> Callable[[], None]:
        def end() -> None:
            self.ended_by = number
            if task is not None:
                task.cancel()

        return end


@contextmanager
def _redirect_tool_output() -> Generator[None]:
    """Send what a tool prints to standard error: standard output is for the result."""
    if sys.stderr is None:  # the program was started with stderr closed
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def _resources(shell: Shell, tool: AnyTool) -> dict[type, object]:
    """The resources that calls of this project may use."""
    from toolhaft.define.running import Environment, PlatformAccess

    project = shell.project
    resources: dict[type, object] = {
        Filesystem: HostFilesystem(project.root),
        Environment: environment_for_call(shell, tool),
        PlatformAccess: project.access,
    }
    with suppress(ImportError):  # without the extra `web`; tools that need it report that themselves
        from toolhaft.resources.http import HttpClient

        resources[HttpClient] = HttpClient(allow=[*project.http_allow, *local_hosts(shell, tool)])
    return resources


def _cancel_message(tool: AnyTool) -> str:
    match tool.effect:
        case "read" | "reversible":
            return "cancelled: nothing was changed"
        case "idempotent":
            return "cancelled: files were restored; the call may be repeated safely"
        case _:
            return "cancelled: files were restored; it is not known what else the tool did"
