"""The entry point of the program: turns every error into a message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

TYPE_CHECKING = False  # other modules are imported inside, where a missing package can be reported
if TYPE_CHECKING:
    from types import TracebackType

    from toolhaft.cli.errors import ErrorReport


def main() -> None:
    """Run the command line with `sys.argv`, and exit with its exit code."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 -- importing pathlib would take a tenth of the start-up time
    program = name if name in ("lk", "toolhaft") else "toolhaft"
    _prepare(program)
    try:
        code = run(sys.argv[1:], program=program)
        if sys.stdout is not None:  # it is None if it was closed
            sys.stdout.flush()
    except BrokenPipeError:
        code = _detach_output()
    except OSError as error:
        code = _detach_output(error)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def run(arguments: Sequence[str], *, program: str = "lk") -> int:
    """Run one command and return its exit code; errors are printed to standard error."""
    try:
        import click
    except ImportError:
        sys.stderr.write("error: the command line needs click\n  try: pip install 'toolhaft[cli]'\n")
        return 3
    from toolhaft.cli.errors import describe_error
    from toolhaft.errors import ToolhaftError

    try:
        return _invoke(list(arguments), program)
    except click.Abort:
        return 130
    except BrokenPipeError:
        raise
    except (click.ClickException, ImportError, OSError, ToolhaftError) as error:
        report = describe_error(error)
        if report is None:
            raise
        _print(report, program, as_json=wants_json(arguments))
        return report.exit


def wants_json(arguments: Sequence[str]) -> bool:
    """True if `--json` was typed, also in a command that could not be parsed."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _invoke(arguments: list[str], program: str) -> int:
    import click

    from toolhaft.cli.program import PROGRAM

    if f"_{program.upper()}_COMPLETE" in os.environ:
        PROGRAM.main(arguments, prog_name=program, standalone_mode=False)  # prints completions, and exits
    try:
        with PROGRAM.make_context(program, arguments) as context:
            code: object = PROGRAM.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a verb: its help goes to stderr
        sys.stderr.write(f"{error.format_message()}\n")
        return 2
    return code if isinstance(code, int) else 0


def _print(report: ErrorReport, program: str, *, as_json: bool) -> None:
    from toolhaft.cli.output import print_note, printable, to_json

    fix = f"{program} {report.fix}" if report.is_command and report.fix else report.fix
    if as_json:
        print_note(to_json({"error": report.error, "fix": fix or None, "exit": int(report.exit)}))
        return
    print_note(printable(f"error: {report.error}"))
    if fix:
        print_note(printable(f"  {'try' if report.is_command else 'fix'}: {fix}"))


def _prepare(program: str) -> None:
    """Escape characters that the output's encoding lacks; print a bug of ours as one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if "TOOLHAFT_TRACEBACK" in os.environ:
        return

    def print_bug(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
        what = f"{kind.__name__}: {error}".splitlines()[0]
        sys.stderr.write(f"error: a bug in {program}: {what}\n")
        sys.stderr.write(
            f"  try: run it again as TOOLHAFT_TRACEBACK=1 {program} ..., and report the traceback\n"
        )

    sys.excepthook = print_bug


def _detach_output(error: OSError | None = None) -> int:
    """Discard further output; returns the exit code: 0 if its reader has gone, 1 for a write error."""
    # the interpreter flushes once more at exit, and would report the same error again
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error is None:
        return 0
    sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
    return 1
