"""A tool whose handler is replaced is called as the new handler wants it."""

from dataclasses import dataclass

from tests.cases import each_case
from toolhaft import Tool, ToolCall, ToolConfig, ToolContext, ToolExecutor, ToolResult, create_tool, tool


@dataclass
class Params:
    text: str = "a"


def typed_handler(params: Params, *, context: ToolContext) -> ToolResult[str]:
    return ToolResult.ok(f"{params.text} {context.call.name}")


def with_context(given: dict[str, object], where: ToolContext) -> str:
    return f"{given['text']} {where.call.name}"


def without(given: dict[str, object]) -> str:
    return f"{given['text']} alone"


def keywords(text: str = "a", *, here: ToolContext) -> str:
    return f"{text} {here.call.name}"


def raw(handler):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return create_tool(
        ToolConfig(name="t", description="T.", input_schema=schema, output_schema=None, execute=handler)
    )


@tool(name="t")
def plain(text: str = "a") -> str:
    """T."""
    return text


@each_case(
    ("made", "handler", "value"),
    [
        (Tool[Params, str](name="t", description="T."), typed_handler, "a t"),
        (raw(without), with_context, "a t"),
        (raw(with_context), without, "a alone"),
        (plain, keywords, "a t"),
    ],
    ids=["typed without a handler", "raw gains a context", "raw loses it", "function"],
)
def test_replace_finds_the_context_parameter_of_the_new_handler(made, handler, value):
    executor = ToolExecutor([made.replace(handler=handler)])
    assert executor.execute(ToolCall(name="t", arguments={"text": "a"})).value == value


def test_replacing_the_description_keeps_the_handler():
    made = raw(with_context)
    assert made.replace(description="Other.").context_name == made.context_name == "where"
