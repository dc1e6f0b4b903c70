"""Prints what came of a call: the value on standard output, all else on standard error.

Knows results and exit codes; does not know how a call is run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, cast

from toolhaft.cli import output
from toolhaft.cli.errors import tell
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell
from toolhaft.core.doors import AnyTool
from toolhaft.core.failure import Failure
from toolhaft.core.result import ToolResult
from toolhaft.errors import ToolValidationError
from toolhaft.execute.masks import mask_of
from toolhaft.schema import InvalidArguments, ValidArguments, to_json_text
from toolhaft.schema.json_value import JSONObject

_EXITS: Final = {"invalid_arguments": Exit.USAGE, "not_allowed": Exit.PERMISSION}
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
    error, depth = failure.error, 0
    while error is not None and depth < _DEEPEST_CAUSE:
        told = tell(error)
        if told is not None and told.exit in (Exit.NETWORK, Exit.PERMISSION):
            return told.exit
        error, depth = error.__cause__ or error.__context__, depth + 1
    return Exit.FAILED


def _tell_failure(shell: Shell, tool: AnyTool, result: ToolResult[Any]) -> None:
    failure, message = result.failure, result.message
    while failure is not None and failure.advice and message.endswith(failure.advice):
        message = message.removesuffix(failure.advice).rstrip()  # it tells a model how often it may try
    output.note(f"error: {output.show(tool.name)}: {output.show(message)}")
    if result.value is not None:
        output.note(output.show(_json_text(result.value)))
    if failure is not None and failure.outcome == "unknown":
        output.note("  What it did before is not known: look before you repeat it.")
    if failure is not None and failure.kind == "invalid_arguments":
        output.note(f"  try: {shell.command(f'call {tool.name} --help')}")


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
