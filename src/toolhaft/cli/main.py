"""Starts the program, and ends it: every error becomes a message and an exit code here.

Does not know the verbs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

TYPE_CHECKING = False  # what the program needs is loaded inside, where its absence can be told
if TYPE_CHECKING:
    from types import TracebackType

    from toolhaft.cli.errors import Told


def main() -> None:
    """Run the command line on the process's own arguments, and leave with its exit code."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 -- pathlib would cost a tenth of the start
    program = name if name in ("lk", "toolhaft") else "toolhaft"
    _prepare(program)
    try:
        code = run(sys.argv[1:], program=program)
        if sys.stdout is not None:  # it is None where it was closed
            sys.stdout.flush()
    except BrokenPipeError:
        code = _leave_output()
    except OSError as error:
        code = _leave_output(error)
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def run(arguments: Sequence[str], *, program: str = "lk") -> int:
    """Run one command and return its exit code; an error is told on standard error."""
    try:
        import click  # noqa: PLC0415 -- its absence is told like every other error
    except ImportError:
        sys.stderr.write("error: the command line needs click\n  try: pip install 'toolhaft[cli]'\n")
        return 3
    from toolhaft.cli.errors import tell  # noqa: PLC0415 -- needs click
    from toolhaft.errors import ToolhaftError  # noqa: PLC0415 -- the same

    try:
        return _invoke(list(arguments), program)
    except click.Abort:
        return 130
    except BrokenPipeError:
        raise
    except (click.ClickException, ImportError, OSError, ToolhaftError) as error:
        told = tell(error)
        if told is None:
            raise
        _print(told, program, as_json=wants_json(arguments))
        return told.exit


def wants_json(arguments: Sequence[str]) -> bool:
    """True if `--json` was typed, also in a command that could not be understood as a whole."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in own


def _invoke(arguments: list[str], program: str) -> int:
    import click  # noqa: PLC0415 -- there, since `run` found it

    from toolhaft.cli.program import PROGRAM  # noqa: PLC0415 -- needs click

    if f"_{program.upper()}_COMPLETE" in os.environ:
        PROGRAM.main(arguments, prog_name=program, standalone_mode=False)  # answers the shell, and leaves
    try:
        with PROGRAM.make_context(program, arguments) as context:
            code: object = PROGRAM.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a verb: its help, but not as data
        sys.stderr.write(f"{error.format_message()}\n")
        return 2
    return code if isinstance(code, int) else 0


def _print(told: Told, program: str, *, as_json: bool) -> None:
    from toolhaft.cli.output import note, show, to_json  # noqa: PLC0415 -- only where something went wrong

    fix = f"{program} {told.fix}" if told.is_command and told.fix else told.fix
    if as_json:
        note(to_json({"error": told.error, "fix": fix or None, "exit": int(told.exit)}))
        return
    note(show(f"error: {told.error}"))
    if fix:
        note(show(f"  {'try' if told.is_command else 'fix'}: {fix}"))


def _prepare(program: str) -> None:
    """A letter that the output cannot carry is written out; a fault of ours is told in a line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if "TOOLHAFT_TRACEBACK" in os.environ:
        return

    def tell_fault(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
        what = f"{kind.__name__}: {error}".splitlines()[0]
        sys.stderr.write(f"error: a fault of {program} itself: {what}\n")
        sys.stderr.write(f"  try: the same command with TOOLHAFT_TRACEBACK=1 {program} ..., and report it\n")

    sys.excepthook = tell_fault


def _leave_output(error: OSError | None = None) -> int:
    """Nobody reads the output any more, which is no failure, or it cannot be written, which is one."""
    # the interpreter flushes once more when it ends, and would tell the same again
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if error is None:
        return 0
    sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
    return 1
