"""Five ways to define a tool, calls checked, rolled back and killed, built-in tools, prompts, ten formats."""

import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhaft import (
    BaseTool,
    Catalog,
    Filesystem,
    HostFilesystem,
    InvalidArguments,
    Session,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    ToolParam,
    ToolRegistry,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    load_tool,
    tool,
)
from toolhaft.errors import VisibilityExpansionRequired
from toolhaft.formats import FORMATS, describe, estimate_tokens, export_tools
from toolhaft.prompt import MarkdownSection, Prompt, ReadBeforeWrite
from toolhaft.toolbox import read_file, write_file
from toolhaft.toolbox.planning import Plan, PlanningToolsSection, print_plan


@tool(effect="read")
def search_notes(query: str, limit: int = 10, tags: list[str] | None = None) -> list[str]:
    """Search the notes.

    Args:
        query: What to look for
        limit: How many notes to return
        tags: Only notes with one of these tags
    """
    return [f"{query} {tags or ''} {number}" for number in range(limit)]


class Echo(BaseTool):
    """A class tool with its specification."""

    spec = ToolSpec(
        name="echo",
        description="Echoes text back to the caller.",
        when_to_use="Use for basic echo or smoke testing",
        inputs=[ToolParam(name="text", type="string", description="Text to echo", required=True)],
        returns=ToolReturn(type="string", description="The echoed text"),
    )

    def __call__(self, *, text: str, **_: object) -> ToolResponse:
        """Say it again."""
        return ToolResponse(final_answer=True, observation=text)


@dataclass(frozen=True)
class Booking:
    """What a booking needs."""

    guest: str = field(metadata={"description": "Who stays", "min_length": 1})
    nights: int = field(metadata={"description": "How long", "ge": 1, "le": 30})


@dataclass(frozen=True)
class Confirmation:
    """What a booking gives."""

    number: int


def book(params: Booking, *, context: ToolContext) -> ToolResult[Confirmation]:  # noqa: ARG001 -- a handler's signature
    """Book a room."""
    return ToolResult.ok(Confirmation(number=params.nights), message=f"Booked for {params.guest}")


booking_tool = Tool[Booking, Confirmation](name="book_room", description="Book a room.", handler=book)

weather_tool = create_tool(
    ToolConfig(
        name="get_weather",
        description="Get current weather for a city",
        input_schema={
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name", "minLength": 1}},
            "required": ["city"],
        },
        output_schema={"type": "object", "properties": {"temperature": {"type": "number"}}},
        execute=lambda given: {"temperature": float(len(given["city"]))},
        timeout_s=5,
    )
)

SHOUT = """\
id: "shout"
name: "Shout"
description: "Writes text in capitals"
parameters:
  - name: "input"
    type: "string"
    required: true
    description: "Input text"
  - name: "times"
    type: "integer"
    required: false
    default: 1
    description: "How often"
"""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger in the session."""

    text: str


@tool(effect="reversible")
def post(text: str, copies: int, context: ToolContext) -> str:
    """Post an entry to the ledger, with copies on disk."""
    context.session[Entry].append(Entry(text))
    for number in range(copies):
        context.filesystem.write(f"copy-{number}.txt", text)
        if number == 2:  # noqa: PLR2004 -- the third copy is one too many
            raise OSError("the printer is out of paper")
    return f"posted, {copies} copies"


@tool(isolation="process", timeout_s=0.5)
def spin() -> None:
    """Never come back."""
    while True:
        pass


CALLS = {
    "search_notes": ('{"query": "haft", "limit": 3}', '{"qery": "haft", "limit": true, "tags": "work"}'),
    "echo": ('{"text": "hello"}', '{"text": 123, "loud": true}'),
    "book_room": ('{"guest": "Ada", "nights": "2"}', '{"guest": "", "nights": 99}'),
    "get_weather": ('{"city": "Oslo"}', '{"city": "Oslo", "city": "Rome"}'),
    "shout": ('{"input": "hey"}', '{"input": "hey", "times": "often"}'),
}


def show(made: Tool[Any, Any]) -> None:
    """Print one tool, and how it validates good and bad arguments."""
    good, bad = CALLS[made.name]
    print(f"== {made.name}: {made.description}")
    print(f"   schema  {json.dumps(made.input_schema)}")
    print(f"   good    {good}")
    print(f"           {made.validate(good)}")
    print(f"   bad     {bad}")
    verdict = made.validate(bad)
    if not isinstance(verdict, InvalidArguments):
        raise SystemExit(f"{bad} was not refused")
    for line in verdict.message.splitlines():
        print(f"           {line}")
    print()


def main() -> None:
    """Define five tools, register them together, show each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shout.yaml")
        path.write_text(SHOUT, encoding="utf-8")
        registry = ToolRegistry([search_notes, Echo(), booking_tool, [weather_tool, load_tool(path)]])
    for made in registry:
        show(made)
    with tempfile.TemporaryDirectory() as folder:
        run(folder)
    with tempfile.TemporaryDirectory() as folder:
        use_toolbox(folder)
    with tempfile.TemporaryDirectory() as folder:
        plan_and_work(folder)
    export([*registry, post])


def run(folder: str) -> None:
    """Run three calls of a model: one succeeds, one fails half-way, one would never end."""
    session, files = Session(), HostFilesystem(folder)
    session.dispatcher.subscribe(ToolInvoked, log)
    with ToolExecutor([post, spin], session=session, resources={Filesystem: files}) as executor:
        for arguments in ({"text": "tea 3.50", "copies": 2}, {"text": "gold 9000", "copies": 5}):
            print(f"== call post({json.dumps(arguments)})")
            print(f"   model   {executor.execute(ToolCall(name='post', arguments=arguments)).render()}")
            print(f"   ledger  {[entry.text for entry in session[Entry].all()]}")
            print(f"   files   {[(file.path, files.read(file.path).content) for file in files.list()]}\n")
        print("== call spin()")
        began = time.monotonic()
        print(f"   model   {executor.execute(ToolCall(name='spin')).message}")
        print(
            f"   after   {time.monotonic() - began:.1f} s, killed {executor.stats.killed_processes} process"
        )


BUILT_IN_CALLS = [
    ("calculator", {"expression": "0.1 + 0.2"}),
    ("calculator", {"expression": "2 ** 100 // comb(52, 5)"}),
    ("calculator", {"expression": "9 ** 9 ** 9"}),
    ("calculator", {"expression": "2 ^ 10"}),
    ("write_file", {"path": "notes/tea.txt", "content": "Earl Grey, 3.50 €\nAssam, 2.80 €\n"}),
    ("list_directory", {"path": ".", "recursive": True}),
    ("read_file", {"path": "notes/tea.txt"}),
    ("file_reader", {"path": "notes/tea.txt", "limit": 1}),
    ("read_file", {"path": "../../etc/passwd"}),
    ("read_file", {"path": "notes/coffee.txt"}),
]


def use_toolbox(folder: str) -> None:
    """Run built-in tools, found by their ids, with valid and invalid arguments."""
    print("\n== built-in tools")
    ids = ["calculator", "read_file", "file_reader", "write_file", "list_directory"]
    with ToolExecutor(ids, catalog=Catalog(), resources={Filesystem: HostFilesystem(folder)}) as executor:
        for name, arguments in BUILT_IN_CALLS:
            print(f"   {name}({json.dumps(arguments, ensure_ascii=False)})")
            result = executor.execute(ToolCall(name=name, arguments=arguments))
            for line in result.render().splitlines():
                print(f"           {line}")


@dataclass(frozen=True)
class Task:
    """What the prompt's text is about."""

    file: str


PLANNED_CALLS = [
    ("planning_add_step", {"steps": ["Too early"]}),
    (
        "planning_setup_plan",
        {"objective": "Translate the price list", "initial_steps": ["Read it", "Write it"]},
    ),
    ("planning_update_step", {"step_id": 1, "status": "in_progress"}),
    ("write_file", {"path": "prices.txt", "content": "Tee 3,50 €"}),
    ("open_sections", {"section_keys": ["files"], "reason": "to read the list"}),
    ("write_file", {"path": "prices.txt", "content": "Tee 3,50 €"}),
    ("read_file", {"path": "prices.txt"}),
    ("planning_update_step", {"step_id": 1, "status": "done"}),
    ("planning_update_step", {"step_id": 7, "status": "done"}),
    ("write_file", {"path": "prices.txt", "content": "Tee 3,50 €"}),
    ("planning_update_step", {"step_id": 2, "status": "done"}),
    ("planning_add_step", {"steps": ["Too late"]}),
]


def plan_and_work(folder: str) -> None:
    """Make a plan and complete it, with tools from the sections of a prompt."""
    session, files = Session(), HostFilesystem(folder)
    files.write("prices.txt", "Tea 3.50 €")
    work = MarkdownSection[Task](
        title="Files",
        key="files",
        template="Translate $file; read a file before you change it.",
        summary="How to work on $file.",
        visibility="summary",
        tools=[read_file, write_file],
        policies=[ReadBeforeWrite()],
    )
    prompt = Prompt(
        name="translator",
        sections=[PlanningToolsSection(session=session), work],
        resources={Filesystem: files},
    ).bind(Task(file="prices.txt"))
    print(f"\n== a prompt that carries tools\n{prompt.outline()}\n")
    with ToolExecutor(prompt=prompt) as executor:
        for name, arguments in PLANNED_CALLS:
            print(f"   {name}({json.dumps(arguments, ensure_ascii=False)})")
            try:
                result = executor.execute(ToolCall(name=name, arguments=arguments))
            except VisibilityExpansionRequired as asked:
                prompt = prompt.with_visibility(asked.requested_overrides)
                executor.change_prompt(prompt)
                print(f"           rendered again: {asked}; tools: {', '.join(executor.tools)}")
            else:
                print(f"           {result.message or result.render()}")
    plan = session[Plan].latest()
    if plan is None or plan.status != "completed":
        raise SystemExit("the plan was not completed")
    print()
    print_plan(plan)


def log(event: ToolInvoked) -> None:
    """Print one line per call, as a log would."""
    outcome = "done" if event.success else f"{event.kind}, {event.outcome}"
    print(f"   event   {event.tool} {outcome} in {event.duration_s * 1000:.0f} ms")


def export(tools: list[Tool[Any, Any]]) -> None:
    """Export the tools in every provider's format, and print what each format loses."""
    print(f"\n== {', '.join(made.name for made in tools)}, in ten formats")
    for name in FORMATS:
        sent = export_tools(tools, name)
        print(f"   {name:16}  {len(sent.json_bytes):5} bytes, about {estimate_tokens(sent):3} tokens")
        lost: dict[str, list[str]] = {}
        for loss in sent.losses:
            lost.setdefault(f"{loss.keyword} {loss.done}", []).append(f"{loss.tool}{loss.path}")
        for what, where in lost.items():
            print(f"                     {what}: {', '.join(where)}")
        for refusal in sent.refused:
            print(f"                     refused: {refusal}")
    print(f"   {'as stubs':16}         about {estimate_tokens(describe(tools, 'signature')):3} tokens")


if __name__ == "__main__":
    main()
