"""Prints what came of a call: the value on standard output, all else on standard error.

Knows results and exit codes; does not know how a call is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from toolhaft.cli import output
from toolhaft.cli.call_behind import answering
from toolhaft.cli.errors import tell
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell
from toolhaft.core.conversion import AnyTool
from toolhaft.core.failure import Failure
from toolhaft.core.result import ToolResult
from toolhaft.errors import HttpRefusedError, ToolValidationError
from toolhaft.execute.masks import mask_of
from toolhaft.schema import InvalidArguments, ValidArguments, to_json_text
from toolhaft.schema.json_value import JSONObject

_EXITS: Final = {"invalid_arguments": Exit.USAGE, "not_allowed": Exit.PERMISSION}
_BY_CAUSE: Final = (Exit.NETWORK, Exit.PERMISSION)
_DEEPEST_CAUSE: Final = 10


def answer(shell: Shell, tool: AnyTool, result: ToolResult[Any], *, duration_s: float, as_json: bool) -> Exit:
    """Print a result. Returns the exit code that it deserves."""
    code = Exit.OK if result.success else exit_of(result.failure)
    if as_json:
        output.say_json(_as_json(result, duration_s))
        return code
    for repair in result.repairs:
        output.note(f"note: {output.show(str(repair))}")
    if not result.success:
        _tell_failure(shell, tool, result)
        return code
    if result.value is not None:
        output.say(_text_of(result.value))
        if result.message not in ("", "OK"):
            output.note(output.show(result.message))
    elif result.message:
        output.say(_shown(result.message))
    return code


def answer_invalid(shell: Shell, tool: AnyTool, verdict: InvalidArguments, *, as_json: bool) -> Exit:
    """Print all that is wrong with arguments that were not sent."""
    failure = Failure(kind="invalid_arguments", problems=verdict.problems)
    result = ToolResult[object](success=False, message=verdict.message, failure=failure)
    return answer(shell, tool, result, duration_s=0.0, as_json=as_json)


def answer_preview(shell: Shell, tool: AnyTool, verdict: ValidArguments, *, as_json: bool) -> Exit:
    """Print what a call with these arguments would send or run; secrets are not shown."""
    arguments = cast("JSONObject", json.loads(to_json_text(verdict.params)))
    mask = mask_of(tool)
    try:
        told = _preview(tool, arguments)
        if mask is not None:
            told = _masked_preview(tool, cast("JSONObject", mask(arguments)))
    except ToolValidationError as error:  # what only shows once the values are put in their places
        failure = Failure(kind="invalid_arguments", error=error)
        result = ToolResult[object](success=False, message=str(error), failure=failure)
        return answer(shell, tool, result, duration_s=0.0, as_json=as_json)
    for repair in verdict.repairs:
        output.note(f"note: {output.show(str(repair))}")
    output.say(_shown(output.to_json(told, indent=2)))
    return Exit.OK


def _preview(tool: AnyTool, arguments: JSONObject) -> JSONObject:
    preview: Callable[[JSONObject], JSONObject] | None = getattr(tool, "preview", None)
    return {"tool": tool.name, "arguments": arguments} if preview is None else preview(arguments)


def _masked_preview(tool: AnyTool, masked: JSONObject) -> JSONObject:
    try:
        return _preview(tool, masked)
    except ToolValidationError:  # the mask itself is no value that the tool takes
        return {"tool": tool.name, "arguments": masked}


def exit_of(failure: Failure | None) -> Exit:
    """The exit code of a failed call: by its kind, and by what lies at the bottom of it."""
    if failure is None:
        return Exit.FAILED
    if failure.kind in _EXITS:
        return _EXITS[failure.kind]
    for depth, error in enumerate(causes_of(failure)):
        told = tell(error)
        # what a tool's own code raises says nothing of the project's configuration
        if told is not None and (told.exit in _BY_CAUSE or (depth and told.exit == Exit.CONFIGURATION)):
            return told.exit
    return Exit.FAILED


def causes_of(failure: Failure) -> Iterator[BaseException]:
    """The error of a failure, and what it came from, the last first."""
    error = failure.error
    for _ in range(_DEEPEST_CAUSE):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _tell_failure(shell: Shell, tool: AnyTool, result: ToolResult[Any]) -> None:
    failure, message = result.failure, result.message
    while failure is not None and failure.advice and message.endswith(failure.advice):
        message = message.removesuffix(failure.advice).rstrip()  # it tells a model how often it may try
    name = "" if message.startswith(f"{tool.name} ") else f"{output.show(tool.name)}: "
    output.note(f"error: {name}{output.show(message)}")
    if result.value is not None:
        output.note(output.show(_json_text(result.value)))
    last = tool if exit_of(failure) == Exit.USAGE else answering(shell, tool)[-1]
    if failure is not None and failure.outcome == "unknown" and last.handler is not None:
        output.note("  What it did before is not known: look before you repeat it.")
    hint = _next(shell, tool, last, failure)
    if hint:
        output.note(f"  try: {output.show(hint)}")


def _next(shell: Shell, tool: AnyTool, last: AnyTool, failure: Failure | None) -> str:
    """What to type next; empty where only the tool's own message can say it. `last` is what answers it."""
    code = exit_of(failure)
    if code == Exit.USAGE:
        return shell.command(f"call {tool.name} --help")
    if last.handler is None:
        return _activate(shell, last)
    barred = _barred(last, failure)
    if barred:
        return f'write http_allow = ["{barred}"] into toolhaft.toml, if it is to be reached'
    match code:
        case Exit.NETWORK | Exit.CONFIGURATION:
            return shell.command("doctor")
        case Exit.PERMISSION:
            return shell.command(f"tool show {tool.name}")
        case _:
            return ""


def _barred(tool: AnyTool, failure: Failure | None) -> str:
    """The host of a tool that the guard did not let it reach; empty where it was another one, or none."""
    errors = [] if failure is None else list(causes_of(failure))
    said = next((str(error) for error in errors if isinstance(error, HttpRefusedError)), "")
    hosts: tuple[str, ...] = getattr(tool, "hosts", ())
    return next((host for host in hosts if f"'{host.rpartition(':')[0]}'" in said), "")


def _activate(shell: Shell, tool: AnyTool) -> str:
    if getattr(tool, "says_active", None) is False:
        return f"write is_active: true into its file, then {shell.command(f'tool set {tool.name}')}"
    return f"{shell.command(f'tool set {tool.name} --endpoint URL')}, or write `run:` into its file"


def _as_json(result: ToolResult[Any], duration_s: float) -> dict[str, object]:
    failure = result.failure
    return {
        "success": result.success,
        "message": result.message,
        "value": json.loads(to_json_text(result.value)),
        "failure": None
        if failure is None
        else {
            "kind": failure.kind,
            "problems": [str(problem) for problem in failure.problems],
            "advice": failure.advice,
            "outcome": failure.outcome,
        },
        "untrusted": result.untrusted,
        "repairs": [str(repair) for repair in result.repairs],
        "duration_s": round(duration_s, 6),
    }


def _text_of(value: object) -> str:
    return _shown(value if isinstance(value, str) else _json_text(value))


def _json_text(value: object) -> str:
    return output.to_json(json.loads(to_json_text(value)), indent=2)


def _shown(text: str) -> str:
    """A text as it is for a program that reads it; for a person without what a terminal would obey."""
    return output.show(text) if output.is_terminal() else text
