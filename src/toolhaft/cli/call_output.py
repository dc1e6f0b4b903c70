"""Prints the result of a call: its value to standard output, everything else to standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

from toolhaft.cli import output
from toolhaft.cli.errors import Exit, describe_error
from toolhaft.cli.forwarding import forwarding_chain
from toolhaft.cli.shell import Shell
from toolhaft.core.conversion import AnyTool
from toolhaft.core.masking import SecretTexts, argument_mask
from toolhaft.core.result import Failure, ToolResult
from toolhaft.errors import HttpRefusedError, ToolValidationError
from toolhaft.schema import InvalidArguments, to_json_text
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import Repair

_EXITS_BY_KIND: Final = {"invalid_arguments": Exit.USAGE, "not_allowed": Exit.PERMISSION}
_EXITS_BY_CAUSE: Final = (Exit.NETWORK, Exit.PERMISSION)
_MAX_CAUSES: Final = 10


def print_result(
    shell: Shell, tool: AnyTool, result: ToolResult[Any], *, duration_s: float, as_json: bool
) -> Exit:
    """Print a result, and return the exit code for it."""
    code = Exit.OK if result.success else exit_code(result.failure)
    if as_json:
        output.print_json(_as_json(result, duration_s))
        return code
    for repair in result.repairs:
        output.print_note(f"note: {output.printable(str(repair))}")
    if not result.success:
        _print_failure(shell, tool, result)
        return code
    if result.content:
        _print_content(result)
    elif result.value is not None:
        output.print_data(_text_of(result.value))
        if result.message not in ("", "OK"):
            output.print_note(output.printable(result.message))
    elif result.message:
        output.print_data(output.for_terminal(result.message))
    return code


def _print_content(result: ToolResult[Any]) -> None:
    """Print what a terminal can show of images and other parts: their kinds, and the texts beside them."""
    from toolhaft.core.content import name_parts
    from toolhaft.formats.message_parts import is_content

    value = "" if is_content(result) else _text_of(result.value)
    shown = (output.for_terminal(result.message), value, output.for_terminal(name_parts(result.content)))
    output.print_data("\n\n".join(filter(None, shown)))
    output.print_note("note: with --json, the bytes are written as Base64")


def print_invalid(shell: Shell, tool: AnyTool, verdict: InvalidArguments, *, as_json: bool) -> Exit:
    """Print every problem of invalid arguments."""
    failure = Failure(kind="invalid_arguments", problems=verdict.problems, message=verdict.message)
    result = ToolResult[object](success=False, message=verdict.message, failure=failure)
    return print_result(shell, tool, result, duration_s=0.0, as_json=as_json)


def print_preview(
    shell: Shell, tool: AnyTool, arguments: JSONObject, repairs: Iterable[Repair], *, as_json: bool
) -> Exit:
    """Print what a call with this checked JSON would send or run; secrets are masked."""
    mask = argument_mask(tool)
    try:
        preview = _preview(tool, arguments)
        if mask is not None:
            preview = _masked_preview(tool, cast("JSONObject", mask(arguments)))
    except ToolValidationError as error:  # found only once the values are in the request
        failure = Failure(kind="invalid_arguments", cause=error)
        result = ToolResult[object](success=False, message=str(error), failure=failure)
        return print_result(shell, tool, result, duration_s=0.0, as_json=as_json)
    secrets = None if mask is None else SecretTexts(mask, [arguments])
    for repair in repairs:
        shown = repair if secrets is None else secrets.repair(repair)
        output.print_note(f"note: {output.printable(str(shown))}")
    output.print_data(output.for_terminal(output.to_json(preview, indent=2)))
    return Exit.OK


def _preview(tool: AnyTool, arguments: JSONObject) -> JSONObject:
    preview: Callable[[JSONObject], JSONObject] | None = getattr(tool, "preview", None)
    return {"tool": tool.name, "arguments": arguments} if preview is None else preview(arguments)


def _masked_preview(tool: AnyTool, masked: JSONObject) -> JSONObject:
    try:
        return _preview(tool, masked)
    except ToolValidationError:  # the tool does not accept the mask as a value
        return {"tool": tool.name, "arguments": masked}


def exit_code(failure: Failure | None) -> Exit:
    """The exit code of a failed call, by the kind of its failure and by the causes of its error."""
    if failure is None:
        return Exit.FAILED
    if failure.kind in _EXITS_BY_KIND:
        return _EXITS_BY_KIND[failure.kind]
    for depth, error in enumerate(error_chain(failure)):
        report = describe_error(error)
        # an error raised by the tool's own code is not about the project's configuration
        if report is not None and (
            report.exit in _EXITS_BY_CAUSE or (depth and report.exit == Exit.CONFIGURATION)
        ):
            return report.exit
    return Exit.FAILED


def error_chain(failure: Failure) -> Iterator[BaseException]:
    """The error of a failure, and its causes."""
    error = failure.cause
    for _ in range(_MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _print_failure(shell: Shell, tool: AnyTool, result: ToolResult[Any]) -> None:
    failure, message = result.failure, result.message
    while failure is not None and failure.advice and message.endswith(failure.advice):
        message = message.removesuffix(failure.advice).rstrip()  # advice for a model, about further attempts
    name = "" if message.startswith(f"{tool.name} ") else f"{output.printable(tool.name)}: "
    output.print_note(f"error: {name}{output.printable(message)}")
    if result.value is not None:
        output.print_note(output.printable(_json_text(result.value)))
    last = tool if exit_code(failure) == Exit.USAGE else forwarding_chain(shell, tool)[-1]
    if failure is not None and failure.outcome == "unknown" and last.handler is not None:
        output.print_note("  It is not known what the call did before it failed: check before you repeat it.")
    hint = _next_step(shell, tool, last, failure)
    if hint:
        output.print_note(f"  try: {output.printable(hint)}")


def _next_step(shell: Shell, tool: AnyTool, last: AnyTool, failure: Failure | None) -> str:
    """What to do next; empty if only the tool's message can help. `last` is the tool that answered."""
    code = exit_code(failure)
    if code == Exit.USAGE:
        return shell.command_line(f"call {tool.name} --help")
    if last.handler is None:
        return _activation(shell, last)
    host = _blocked_host(last, failure)
    if host:
        return f'write http_allow = ["{host}"] into toolhaft.toml, if the tool may reach this host'
    match code:
        case Exit.NETWORK | Exit.CONFIGURATION:
            return shell.command_line("doctor")
        case Exit.PERMISSION:
            return shell.command_line(f"tool show {tool.name}")
        case _:
            return ""


def _blocked_host(tool: AnyTool, failure: Failure | None) -> str:
    """The host of a tool that the network guard refused; empty if none, or one that should stay refused."""
    errors = [] if failure is None else list(error_chain(failure))
    refusals = (error for error in errors if isinstance(error, HttpRefusedError) and error.advice)
    message = next((error.problem for error in refusals), "")
    hosts: tuple[str, ...] = getattr(tool, "hosts", ())
    return next((host for host in hosts if f"'{host.rpartition(':')[0]}'" in message), "")


def _activation(shell: Shell, tool: AnyTool) -> str:
    if getattr(tool, "is_active_in_file", None) is False:
        return shell.command_line(f"tool get {tool.name}")
    return f"{shell.command_line(f'tool set {tool.name} --endpoint URL')}, or write `run:` into its file"


def _as_json(result: ToolResult[Any], duration_s: float) -> dict[str, object]:
    failure, value = result.failure, cast("object", result.value)
    content: dict[str, object] = {}
    if result.content:
        from toolhaft.formats.message_parts import content_blocks, is_content

        value = None if is_content(result) else value
        content = {"content": content_blocks(result)}
    return {
        "success": result.success,
        "message": result.message,
        "value": json.loads(to_json_text(value)),
        **content,
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
    return output.for_terminal(value if isinstance(value, str) else _json_text(value))


def _json_text(value: object) -> str:
    return output.to_json(json.loads(to_json_text(value)), indent=2)
