"""Runs `run: {argv: [...]}`: one program, its arguments as they are, and what it prints.

Knows plans and what a program's end means; how a program is watched and killed is not known here.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.core.result import ToolResult
from toolhaft.define.running.argv_plan import ArgvPlan
from toolhaft.define.running.environment import Environment, environment_of, project_of
from toolhaft.define.running.masking import Mask, mask_of
from toolhaft.define.running.program_run import Ended, ProgramRun
from toolhaft.define.running.requesting import seconds_of
from toolhaft.define.running.tokens import is_credential_name
from toolhaft.errors import ToolError, ToolExecutionError, ToolTimeoutError, ToolValidationError
from toolhaft.schema.json_text import read_json
from toolhaft.schema.json_value import JSONValue

_LONGEST_TAIL: Final = 500
_SHORTEST_SECRET: Final = 8
"""Of a variable whose name does not say that it holds a secret; of others, 4."""
_PLAIN: Final = re.compile(
    r"PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|TMP|TEMP|EDITOR|PAGER"
    r"|DISPLAY|HOSTNAME|VIRTUAL_ENV|XDG_\w+|\w+_(?:PATH|HOME|DIR)"
)
_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:]*:([^\s/@]{4,})@")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramHandler:
    """The handler of a tool whose file has `run: {argv: [...]}`."""

    plan: ArgvPlan
    folder: str | None

    async def __call__(
        self, input: Mapping[str, object], context: ToolContext | None = None
    ) -> ToolResult[object]:
        """Run the program, and give back what it prints; cancelled, it is killed."""
        plan = self.plan
        try:
            argv = [_bytes(text, "argv") for text in (plan.program, *arguments_of(plan, input))]
            variables = _variables(plan, environment_of(context, self.folder))
            run = _start(plan, argv, _folder(plan, self.folder), variables, stdin_of(plan, input))
        except ToolError as error:
            error.nothing_happened = True
            raise
        from toolhaft.define.running.program_watch import watched  # noqa: PLC0415 -- asyncio is slow to load

        ended = await watched(run, seconds_of(context), context)
        mask = mask_of(dict(_secrets(variables))) if plan.env else None
        return ToolResult(value=_value(plan, ended, mask), untrusted=True)


def arguments_of(plan: ArgvPlan, given: Mapping[str, object]) -> list[str]:
    """What the program is given; an argument whose parameter is missing is left out.

    Raises:
        ToolValidationError: for a NUL, which no argument can hold.
    """
    arguments: list[str] = []
    for template in plan.arguments:
        if template.lacks(given):
            continue
        text = template.fill(given, str)
        if "\0" in text:
            raise ToolValidationError(
                f"{', '.join(template.names)}: a NUL character cannot be given to a program; leave it out"
            )
        arguments.append(text)
    return arguments


def stdin_of(plan: ArgvPlan, given: Mapping[str, object]) -> str | None:
    """What the program reads, None where it reads nothing."""
    if plan.stdin is None or plan.stdin.lacks(given):
        return None
    return plan.stdin.fill(given, str)


def _bytes(text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolValidationError(
            f"{where}: a value has half of a character in it; send whole ones"
        ) from None


def _variables(plan: ArgvPlan, environment: Environment) -> dict[str, str]:
    """What the program sees of the environment: where programs are, and what its file asks for by name."""
    variables = {"PATH": os.environ.get("PATH", os.defpath)}
    for name in plan.env:
        if not environment.allows(name):
            environment.get(name)  # which says so
        value = environment.find(name)
        if value is not None:
            variables[name] = value
    return variables


def _secrets(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What the program was given and must not be seen in its output: all but what everybody may know."""
    for name, text in variables.items():
        if _PLAIN.fullmatch(name) or not (len(text) >= _SHORTEST_SECRET or is_credential_name(name)):
            continue
        yield name, text
        found = _PASSWORD.match(text)
        if found is not None:  # which a program may tell without the rest of the URL
            yield f"{name}:password", found[1]


def _folder(plan: ArgvPlan, folder: str | None) -> str:
    place = Path(project_of(folder), plan.cwd)
    if not place.is_dir():
        raise ToolExecutionError(f"the folder {plan.cwd or '.'!r} of the project is not there; make it first")
    return str(place)


def _start(
    plan: ArgvPlan, argv: list[bytes], cwd: str, variables: Mapping[str, str], stdin: str | None
) -> ProgramRun:
    data = None if stdin is None else _bytes(stdin, "stdin")
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        raise ToolExecutionError(
            f"{plan.program:.80} was not started: this process ignores SIGCHLD, and gets no exit code. "
            "Fix: signal.signal(signal.SIGCHLD, signal.SIG_DFL)"
        )
    try:
        return ProgramRun(argv, cwd=cwd, env=variables, stdin=data, max_bytes=plan.max_output_bytes)
    except FileNotFoundError:
        fix = "install it, or correct the first word of argv"
        raise ToolExecutionError(f"there is no program {plan.program!r:.80}; {fix}") from None
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise ToolValidationError(
                "the arguments are longer than a program can take; shorten them"
            ) from None
        reason = error.strerror or type(error).__name__
        raise ToolExecutionError(f"the program {plan.program!r:.80} cannot be run: {reason}") from None


def _value(plan: ArgvPlan, ended: Ended, mask: Mask | None) -> JSONValue:
    """What the output of a program says, or the error that its end stands for."""
    name = plan.program
    if ended.ending in ("timeout", "stopped"):
        raise ToolTimeoutError(f"{name:.80} did not end in time: it was killed, with all that it had started")
    if ended.ending == "overflow":
        raise ToolExecutionError(
            f"{name:.80} printed more than {plan.max_output_bytes:,} bytes: it was killed. Fix: ask it for "
            "less, or raise max_output_bytes"
        )
    if ended.code is None:
        raise ToolExecutionError(
            f"{name:.80} has ended, but its exit code was taken by another part of this process"
        )
    if ended.code != 0:
        tail = _tail(_hidden(ended.stderr.decode("utf-8", "replace"), mask))
        error = ToolExecutionError(f"{name:.80} {_ending(ended.code)}{tail and f': {tail}'}")
        error.untrusted = bool(tail)
        raise error
    text = ended.stdout.decode("utf-8", "replace")
    if plan.shape is None:
        return _line(_hidden(text, mask))
    if plan.shape.is_text:
        return plan.shape.pick(_line(_hidden(text, mask)))
    try:
        value = read_json(text)
        return plan.shape.pick(value if mask is None else mask.value(value))
    except (ValueError, RecursionError) as error:
        raise ToolExecutionError(
            f"{name:.80} printed no JSON, and JSON was expected: {_hidden(str(error), mask):.100}"
        ) from None


def _hidden(text: str, mask: Mask | None) -> str:
    return text if mask is None else mask.text(text)


def _line(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _tail(text: str) -> str:
    """The end of what a program complained about, on one line."""
    shown = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return f"...{shown[-_LONGEST_TAIL:]}" if len(shown) > _LONGEST_TAIL else shown
