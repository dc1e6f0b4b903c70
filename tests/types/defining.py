"""Users define tools.

The type checkers must report each line with `# wrong:`, and no other.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict

from pydantic import BaseModel

from toolhaft import (
    AsyncToolHandler,
    BaseTool,
    Catalog,
    Effect,
    Image,
    InvalidArguments,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExample,
    ToolExecutor,
    ToolHandler,
    Toolkit,
    ToolParam,
    ToolRegistry,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    ValidArguments,
    create_tool,
    load_tool,
    tool,
)

# --- typed handlers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    text: str
    limit: int = 5


@dataclass(frozen=True)
class Answer:
    text: str


class Form(BaseModel):
    name: str


class Row(TypedDict):
    id: int


def answer(params: Question, *, context: ToolContext) -> ToolResult[Answer]:
    if not params.text:
        return ToolResult.error("Ask something.")
    if params.limit > 9:
        return ToolResult.error("Too many.", value=Answer("9"))
    context.beat()
    return ToolResult.ok(Answer(params.text), message="Answered")


def wrong_ok(params: Question, *, context: ToolContext) -> ToolResult[Answer]:
    return ToolResult.ok(params)  # wrong: not an Answer


def wrong_error(params: Question, *, context: ToolContext) -> ToolResult[Answer]:
    return ToolResult.error("Too many.", value="9")  # wrong: not an Answer


def wrong_plain(params: Question, *, context: ToolContext) -> ToolResult[Answer]:
    return Answer(params.text)  # wrong: not a ToolResult


async def answer_later(params: Question, *, context: ToolContext) -> ToolResult[Answer]:
    await asyncio.sleep(0)
    return ToolResult.ok(Answer(params.text))


def fill(params: Form, *, context: ToolContext) -> ToolResult[list[Row]]:
    return ToolResult.ok([{"id": len(params.name)}])


def read_numbers(params: Row, *, context: ToolContext) -> ToolResult[list[float]]:
    return ToolResult.ok([1, params["id"]])


def nested(params: Row, *, context: ToolContext) -> ToolResult[list[float]]:
    return ToolExecutor([numbers]).execute(ToolCall(name="numbers", arguments={**params}))


numbers = Tool[Row, list[float]](name="numbers", description="Numbers.", handler=read_numbers)


def nothing(params: None, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None)


def without_context(params: Question) -> ToolResult[Answer]:
    return ToolResult.ok(Answer(params.text))


handler: ToolHandler[Question, Answer] = answer
later: AsyncToolHandler[Question, Answer] = answer_later
wrong_handler: ToolHandler[Form, Answer] = answer  # wrong: takes a Question
wrong_later: AsyncToolHandler[Question, Row] = answer_later  # wrong: returns an Answer

asked = Tool[Question, Answer](name="ask", description="Ask.", handler=answer, effect="read", timeout_s=5)
asked_later = Tool[Question, Answer](name="ask", description="Ask.", handler=answer_later)
examples = [ToolExample(description="Short", input=Question("Why?"), output=Answer("Because."))]
shown = Tool[Question, Answer](name="ask", description="Ask.", handler=handler, examples=examples)
filled = Tool[Form, list[Row]](name="fill", description="Fill.", handler=fill, effect=Effect.READ)
empty = Tool[None, None](name="nothing", description="Do nothing.", handler=nothing)
declared = Tool[Question, Answer](name="ask", description="Without a handler.")
wrong_params = Tool[Form, Answer](name="ask", description="Ask.", handler=answer)  # wrong: takes a Question
wrong_result = Tool[Question, Row](name="ask", description="Ask.", handler=answer)  # wrong: returns an Answer
wrong_async = Tool[Question, Row](name="ask", description="Ask.", handler=answer_later)  # wrong: an Answer
no_context: ToolHandler[Question, Answer] = without_context  # wrong: takes no context
no_option = Tool[Question, Answer](name="ask", description="Ask.", timeout=5)  # wrong: timeout_s
bad_effect = Tool[Question, Answer](name="ask", description="Ask.", effect="raed")  # wrong: read

wrapped: Tool[Question, Answer] = Tool.wrap(answer)
wrapped_later: Tool[Question, Answer] = Tool.wrap(answer_later, name="later", requires=["ask"])
wrapped_wrong: Tool[Question, Row] = Tool.wrap(answer)  # wrong: returns an Answer
renamed: Tool[Question, Answer] = asked.replace(name="asked", max_attempts=1)
some_tools: list[Tool] = [asked, filled, empty]


class Asker:
    """A handler with state."""

    def __call__(self, params: Question, *, context: ToolContext) -> ToolResult[Answer]:
        return ToolResult.ok(Answer(params.text))

    def method(self, params: Question, *, context: ToolContext) -> ToolResult[Answer]:
        return ToolResult.ok(Answer(params.text))


stateful = Tool[Question, Answer](name="ask", description="Ask.", handler=Asker())
bound = Tool[Question, Answer](name="ask", description="Ask.", handler=Asker().method)


# --- functions and methods ---------------------------------------------------------------------------


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="read", cache_s=60, tags=["word"], when_to_use="For words.", examples=[{"input": {"word": "a"}}])
async def look_up(word: str, *, context: ToolContext) -> list[str]:
    """Look up a word."""
    context.progress(1, 2, "half")
    return [word]


@tool(isolation="inline")
def count(to: int) -> Iterator[str]:
    """Count, in chunks."""
    yield from map(str, range(to))


@tool
async def count_later(to: int) -> AsyncIterator[str]:
    """Count, in chunks."""
    for number in range(to):
        yield str(number)


@tool
def draw(size: int) -> ToolResult[str]:
    """Draw a chart."""
    return ToolResult(message="Drawn", content=(Image(data=b"", media_type="image/png"),))


total: int = add(1, b=2)
add("1")  # wrong: not an int
add(1, c=2)  # wrong: no such parameter
not_text: str = add(1)  # wrong: an int
title: str | None = add.title
properties: list[str] = list(add.input_schema["properties"])
print(add.nmae)  # wrong: no such attribute
described = add.with_words(description="Add.", parameters={"a": "the first"})
total = described(1, b=2)
add_one = tool(partial(add, 1), name="add_one", description="Add one.")


async def use_functions() -> None:
    words: list[str] = await look_up("haft", context=ToolContext())
    wrong: list[int] = await look_up("haft", context=ToolContext())  # wrong: texts
    await look_up(5, context=ToolContext())  # wrong: not a text
    async for text in count_later(3):
        print(text, words, wrong)
    for text in count(3):
        print(text)


class Desk:
    """Methods as tools."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    @tool
    def move(self, x: int, y: int = 0) -> str:
        """Move the desk."""
        return f"{self.owner}: {x + y}"

    @tool(effect="read")
    async def look(self, drawer: Literal["top", "bottom"]) -> str:
        """Look into a drawer."""
        return drawer

    @tool
    @staticmethod
    def measure(length: float) -> float:
        """Measure something."""
        return length

    @tool
    @classmethod
    def order(cls, owner: str) -> str:
        """Order a desk."""
        return cls(owner).owner

    def use(self) -> str:
        return self.move(1, y=2)


desk = Desk("Ada")
moved: str = desk.move(1, y=2)
desk.move("1")  # wrong: not an int
desk.move(1, z=2)  # wrong: no such parameter
not_int: int = desk.move(1)  # wrong: a text
moved = Desk.order("Ada")
moved = desk.order("Ada")
desk.order(5)  # wrong: not a text
length: float = Desk.measure(1.5)
not_text = Desk.measure(1.5)  # wrong: a number
desk_tools = [desk.move, desk.look, Desk.measure, Desk.order]


async def use_desk() -> None:
    print(await desk.look("top"))
    print(await desk.look("middle"))  # wrong: no such drawer


# --- classes and raw schemas -------------------------------------------------------------------------


class Greet(BaseTool):
    """A tool as a class."""

    effect = Effect.READ
    timeout_s = 5.0
    spec = ToolSpec(
        name="greet",
        description="Greet somebody.",
        when_to_use="At the beginning.",
        inputs=[ToolParam(name="name", type="string", description="Whom")],
        returns=ToolReturn(type="string", description="The greeting"),
    )

    def __call__(self, name: str, **runtime: object) -> ToolResponse:
        return ToolResponse(observation=f"Hello {name}", extras={"greeted": name})


class GreetLater(BaseTool):
    """An async tool as a class."""

    spec = Greet.spec

    async def __call__(self, name: str) -> ToolResponse:
        await asyncio.sleep(0)
        return ToolResponse(observation=name, final_answer=True)


class WrongResponse(BaseTool):
    """A tool as a class that returns something else."""

    spec = Greet.spec

    def __call__(self, name: str) -> str:  # wrong: not a ToolResponse
        return name


toolkit = Toolkit([Greet(), GreetLater()])
wrong_param = ToolParam(name="x", type="string", descripton="Whom")  # wrong: description


def weather(arguments: dict[str, Any]) -> dict[str, float]:
    return {"temperature": len(arguments["city"])}


def row(arguments: Row, context: ToolContext) -> int:
    context.beat()
    return arguments["id"]


city_schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
config = ToolConfig(name="weather", description="The weather.", input_schema=city_schema, execute=weather)
raw = create_tool(config)
typed_raw = create_tool(
    ToolConfig(name="row", description="A row.", input_schema={}, execute=row, retryable=False)
)
short = create_tool(
    ToolConfig(name="echo", description="Echo.", input_schema={}, execute=lambda given: given["x"])
)
bare = Tool(name="bare", description="Bare.", input_schema=city_schema, handler=weather)
create_tool(ToolConfig(name="weather", description="No schema."))  # wrong: no input schema
from_file = load_tool("shout.yaml")
registry = ToolRegistry([add, raw])
catalog = Catalog([add, desk_tools])

match add.validate('{"a": 1}'):
    case ValidArguments(params=given, repairs=repairs):
        print(given["a"], [repair.path for repair in repairs])
    case InvalidArguments(problems=problems) as refused:
        print([problem.expected for problem in problems], refused.message)
