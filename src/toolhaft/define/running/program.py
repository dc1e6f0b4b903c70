"""Reads `run: {argv: [...]}` and runs the program: its arguments are never passed through a shell."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.masking import VariableMask, variable_mask
from toolhaft.core.result import ToolResult
from toolhaft.define.running.environment import Environment, environment_of, project_of
from toolhaft.define.running.http_handler import request_timeout_s
from toolhaft.define.running.literal_secrets import is_credential_name
from toolhaft.define.running.parameters import Parameters, ResultFields, RunProblems, result_fields
from toolhaft.define.running.program_run import ProgramResult, ProgramRun
from toolhaft.define.running.template import VARIABLE_NAME, StringTemplate, as_text
from toolhaft.define.running.variable_bindings import PROGRAM
from toolhaft.errors import ToolError, ToolExecutionError, ToolTimeoutError, ToolValidationError
from toolhaft.schema.json_text import read_json
from toolhaft.schema.json_value import JSONObject, JSONValue

ARGV_KEYS: Final = ("argv", "cwd", "env", "max_output_bytes", "stdin")
_DEFAULT_OUTPUT: Final = 1_000_000
_MAX_OUTPUT: Final = 100_000_000
_MAX_TAIL: Final = 500
_MIN_SECRET: Final = 8
"""Values of at least this length are masked; from 4 characters on if the name suggests a secret."""
_PLAIN: Final = re.compile(
    r"PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|TMP|TEMP|EDITOR|PAGER"
    r"|DISPLAY|HOSTNAME|VIRTUAL_ENV|XDG_\w+|\w+_(?:PATH|HOME|DIR)"
)
_PASSWORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:]*:([^\s/@]{4,})@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgvPlan:
    """A program, its arguments and environment, and how much it may print."""

    program: str
    arguments: tuple[StringTemplate, ...]
    cwd: str
    """Relative to the project's folder; empty for that folder."""
    env: tuple[str, ...]
    stdin: StringTemplate | None
    max_output_bytes: int
    returns: ResultFields | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramHandler:
    """The handler of a tool whose file has `run: {argv: [...]}`."""

    plan: ArgvPlan
    folder: str | None
    owner: str = ""
    """The owner of a published tool, whose variables it may use."""

    async def __call__(
        self, input: Mapping[str, object], context: ToolContext | None = None
    ) -> ToolResult[object]:
        """Run the program and return its output; a cancelled call kills it."""
        plan = self.plan
        try:
            argv = [_bytes(text, "argv") for text in (plan.program, *arguments_of(plan, input))]
            variables = _environment_for(plan, environment_of(context, self.folder), self.owner)
            run = _start(plan, argv, _working_directory(plan, self.folder), variables, stdin_of(plan, input))
        except ToolError as error:
            error.nothing_happened = True
            raise
        from toolhaft.define.running.program_watch import run_to_end  # noqa: PLC0415 -- asyncio is slow to load

        ended = await run_to_end(run, request_timeout_s(context), context)
        mask = variable_mask(dict(_secrets(variables))) if plan.env else None
        return ToolResult(value=_value(plan, ended, mask), untrusted=True)


def arguments_of(plan: ArgvPlan, given: Mapping[str, object]) -> list[str]:
    """Fill the arguments; one whose parameter is missing is left out.

    Raises:
        ToolValidationError: for a NUL, which no argument can contain.
    """
    arguments: list[str] = []
    for template in plan.arguments:
        if template.lacks(given):
            continue
        text = template.fill(given, str)
        if "\0" in text:
            raise ToolValidationError(
                f"{', '.join(template.names)}: a NUL character cannot be passed to a program; leave it out"
            )
        arguments.append(text)
    return arguments


def stdin_of(plan: ArgvPlan, given: Mapping[str, object]) -> str | None:
    """Fill the standard input; None if there is none."""
    if plan.stdin is None or plan.stdin.lacks(given):
        return None
    return plan.stdin.fill(given, str)


def _bytes(text: str, where: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolValidationError(
            f"{where}: a value has a lone surrogate in it; send whole characters"
        ) from None


def _environment_for(plan: ArgvPlan, environment: Environment, owner: str) -> dict[str, str]:
    """Return the program's environment: PATH, and the variables that its file names."""
    variables = {"PATH": os.environ.get("PATH", os.defpath)}
    for name in plan.env:
        if not environment.allows(name):
            environment.get(name)  # raises
        if not is_harmless(name):
            environment.check(name, f"{PROGRAM}{plan.program}", owner)
        value = environment.find(name)
        if value is not None:
            variables[name] = value
    return variables


def is_harmless(name: str) -> bool:
    """True for variables that are no secrets, such as HOME and LANG."""
    return _PLAIN.fullmatch(name) is not None


def _secrets(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables whose values are masked in the output: all but well-known harmless ones."""
    for name, text in variables.items():
        if is_harmless(name) or not (len(text) >= _MIN_SECRET or is_credential_name(name)):
            continue
        yield name, text
        found = _PASSWORD.match(text)
        if found is not None:  # a program may print it without the rest of the URL
            yield f"{name}:password", found[1]


def _working_directory(plan: ArgvPlan, folder: str | None) -> str:
    place = Path(project_of(folder), plan.cwd)
    if not place.is_dir():
        raise ToolExecutionError(
            f"the folder {plan.cwd or '.'!r} of the project does not exist; create it first"
        )
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


def _value(plan: ArgvPlan, ended: ProgramResult, mask: VariableMask | None) -> JSONValue:
    """Return the value that the program printed, or raise an error for how it ended."""
    name = plan.program
    if ended.ending in ("timeout", "stopped"):
        raise ToolTimeoutError(
            f"{name:.80} did not end in time: it was killed, with every process it had started"
        )
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
        tail = _tail(_masked(ended.stderr.decode("utf-8", "replace"), mask))
        error = ToolExecutionError(f"{name:.80} {_ending(ended.code)}{tail and f': {tail}'}")
        error.untrusted = bool(tail)
        raise error
    text = ended.stdout.decode("utf-8", "replace")
    if plan.returns is None:
        return _without_line_break(_masked(text, mask))
    if plan.returns.is_text:
        return plan.returns.pick(_without_line_break(_masked(text, mask)))
    try:
        value = read_json(text)
        return plan.returns.pick(value if mask is None else mask.value(value))
    except (ValueError, RecursionError) as error:
        raise ToolExecutionError(
            f"{name:.80} printed no JSON, and JSON was expected: {_masked(str(error), mask):.100}"
        ) from None


def _masked(text: str, mask: VariableMask | None) -> str:
    return text if mask is None else mask.text(text)


def _without_line_break(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _tail(text: str) -> str:
    """Return the end of a program's error output, on one line."""
    shown = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return f"...{shown[-_MAX_TAIL:]}" if len(shown) > _MAX_TAIL else shown


def read_argv(fields: JSONObject, parameters: Parameters, problems: RunProblems) -> ArgvPlan | None:
    """Parse the block; None if it has errors."""
    program, texts = _program_and_arguments(parameters, fields["argv"], problems)
    plan = ArgvPlan(
        program=program,
        arguments=tuple(text for text in texts if text is not None),
        cwd=_read_cwd(fields.get("cwd"), problems),
        env=_read_env(fields.get("env"), problems),
        stdin=_read_stdin(parameters, fields.get("stdin"), problems),
        max_output_bytes=_read_max_output(fields.get("max_output_bytes", _DEFAULT_OUTPUT), problems),
        returns=result_fields(parameters, None),
    )
    return None if problems.has_errors else plan


def _program_and_arguments(
    parameters: Parameters, elements: JSONValue, problems: RunProblems
) -> tuple[str, list[StringTemplate | None]]:
    if not isinstance(elements, list) or not elements:
        problems.add(("argv",), "argv is not a list", 'write argv: ["program", "--option=${parameter}"]')
        return "", []
    texts = [
        _read_argument(parameters, item, number, problems) for number, item in enumerate(elements[1:], 1)
    ]
    program = _read_program(parameters, elements[0], problems)
    _warn_options(parameters, texts, problems)
    return program, texts


def _read_program(parameters: Parameters, item: JSONValue, problems: RunProblems) -> str:
    place = ("argv", 0)
    if not isinstance(item, str) or not item.strip() or "\0" in item:
        problems.add(
            place, "argv does not begin with a program", 'write its name first: argv: ["convert", ...]'
        )
        return ""
    made = parameters.template(item, place, problems)
    if made is not None and not made.is_literal:
        what = "the program is chosen by a parameter"
        problems.add(place, what, "name the program itself; parameters are its arguments")
    return "" if made is None else made.literal


def _read_argument(
    parameters: Parameters, item: JSONValue, number: int, problems: RunProblems
) -> StringTemplate | None:
    place = ("argv", number)
    if item is None or isinstance(item, list | dict):
        problems.add(place, f"element {number} of argv is not text", "write each argument as one text")
        return None
    text = as_text(item)
    if "\0" in text:
        problems.add(
            place, f"element {number} of argv has a NUL in it", "take it out: an argument cannot contain it"
        )
        return None
    return parameters.template(text, place, problems)


def _warn_options(parameters: Parameters, texts: list[StringTemplate | None], problems: RunProblems) -> None:
    """Warn of arguments that a model could turn into options, by a value that begins with a dash."""
    for number, text in enumerate(texts, 1):
        if text is None:
            continue
        if text.is_literal and text.literal == "--":
            return
        name = text.whole
        schema = None if name is None else parameters.inputs[name]
        if schema and schema.get("type") == "string" and not schema.keys() & {"enum", "const", "pattern"}:
            what = f"the program may read ${{{name}}} as an option where it begins with '-'"
            problems.warn(("argv", number), what, f'put "--" before it, or write "--option=${{{name}}}"')


def _read_cwd(value: JSONValue, problems: RunProblems) -> str:
    if value is None:
        return ""
    parts = PurePosixPath(value).parts if isinstance(value, str) else ("..",)
    if not isinstance(value, str) or ".." in parts or value.startswith(("/", "~")) or not value.strip():
        problems.add(("cwd",), "cwd is not a folder below the project's", 'write it as "data/images"')
        return ""
    if "${" in value or "\0" in value:
        problems.add(("cwd",), "cwd cannot be filled by a parameter", "name the folder itself")
        return ""
    return value


def _read_env(value: JSONValue, problems: RunProblems) -> tuple[str, ...]:
    if value is None:
        return ()
    names = value if isinstance(value, list) else [None]
    if not all(isinstance(name, str) and VARIABLE_NAME.fullmatch(name) for name in names):
        what = "env is not a list of variables' names"
        problems.add(("env",), what, "write env: [HOME, LANG]; values come from the environment or .env")
        return ()
    return tuple(cast("list[str]", names))


def _read_stdin(parameters: Parameters, value: JSONValue, problems: RunProblems) -> StringTemplate | None:
    if value is None:
        return None
    made = parameters.template(as_text(value), ("stdin",), problems)
    if made is not None and made.whole is None:
        parameters.require_value(made, ("stdin",), problems, "inside a longer text")
    return made


def _read_max_output(value: JSONValue, problems: RunProblems) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MAX_OUTPUT:
        what = "max_output_bytes is not a whole number of bytes"
        problems.add(("max_output_bytes",), what, f"give it 1 to {_MAX_OUTPUT:,}")
        return _DEFAULT_OUTPUT
    return value
