"""Tools of a host that plan too: they dispatch events, call the planning tools, and succeed or fail.

A script is plain JSON: `tool`, `parts` and `ending`. Parts are events that must work, events that are tried, calls
through the executor, and scripts within.
"""

import asyncio
from typing import Any

from tests.toolbox.planning.kit import EVENTS
from toolhaft import ToolCall, ToolContext, ToolResult, tool
from toolhaft.errors import ReadOnlyError, ToolValidationError

MANY = 10**6
"""Attempts: how often a model may fail is tested elsewhere."""


class Stage:
    """What scripts are run by."""

    executor = None


def call_of(name, arguments):
    """A call of a planning tool, or of one with arguments that do not fit it."""
    return ToolCall(name=f"planning_{name.removeprefix('wrong:')}", arguments=arguments)


def script_call(script):
    return ToolCall(name=script["tool"], arguments={"script": script})


def do(context, part):
    """What can be done without a call; None for the rest."""
    match part:
        case ["event", name, arguments]:
            context.session.dispatch(EVENTS[name](**arguments))
            return "done"
        case ["tried", name, arguments]:
            try:
                context.session.dispatcher.dispatch(EVENTS[name](**arguments))
            except ToolValidationError:
                return "invalid_arguments"
            except ReadOnlyError:
                return "failed"
            return "ok"
    return None


def call_in(part):
    return script_call(part[1]) if part[0] == "nest" else call_of(part[1], part[2])


def kind_of(result):
    return result.failure.kind if result.failure else "ok"


def run(script, context):
    seen = [do(context, part) or kind_of(Stage.executor.execute(call_in(part))) for part in script["parts"]]
    return end(script, seen)


def end(script, seen):
    if script["ending"] == "raise":
        raise OSError("no luck")
    return ToolResult.error("no luck") if script["ending"] == "error" else seen


@tool(effect="reversible", isolation="inline", max_attempts=MANY)
def script_inline(script: dict[str, Any], context: ToolContext) -> list[str]:
    """Run a script where the caller is."""
    return run(script, context)


@tool(effect="reversible", isolation="thread", max_attempts=MANY)
def script_thread(script: dict[str, Any], context: ToolContext) -> list[str]:
    """Run a script on a thread."""
    return run(script, context)


@tool(effect="read", isolation="inline", max_attempts=MANY)
def script_reading(script: dict[str, Any], context: ToolContext) -> list[str]:
    """Run a script where nothing may be written."""
    return run(script, context)


async def run_async(script, context):
    seen = [
        do(context, part) or kind_of(await Stage.executor.aexecute(call_in(part))) for part in script["parts"]
    ]
    if script["ending"] == "hang":
        await asyncio.sleep(60)
    return end(script, seen)


@tool(effect="irreversible", max_attempts=MANY)
async def script_async(script: dict[str, Any], context: ToolContext) -> list[str]:
    """Run a script on a loop."""
    return await run_async(script, context)


@tool(effect="reversible", max_attempts=MANY, timeout_s=0.02)
async def script_hanging(script: dict[str, Any], context: ToolContext) -> list[str]:
    """Run a script, and never come back."""
    return await run_async(script, context)


SCRIPTS = (script_inline, script_thread, script_reading, script_async, script_hanging)
