"""Users run tools, with resources, sessions and prompts.

The type checkers must report each line with `# wrong:`, and no other.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from toolhaft import (
    Budget,
    Catalog,
    Deadline,
    Effect,
    Principal,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
    execute_tool,
    reducer,
    tool,
)
from toolhaft.errors import ToolValidationError
from toolhaft.execute import (
    Approval,
    Beat,
    Chunk,
    Decision,
    Failure,
    PendingApproval,
    PermissionRequest,
    Progress,
)
from toolhaft.prompt import FeedbackContext, MarkdownSection, PolicyDecision, Prompt
from toolhaft.resources import Clock, FakeClock, Filesystem, MemoryFilesystem, ResourceRegistry
from toolhaft.toolbox import calculator, read_file
from toolhaft.toolbox.planning import Plan, PlanningToolsSection


@dataclass(frozen=True)
class Answer:
    text: str


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


# --- running -----------------------------------------------------------------------------------------

executor = ToolExecutor(
    [add, calculator, [read_file]],
    session=Session(),
    principal=Principal(id="ada", scopes=["ask"]),
    deadline=Deadline.after(60),
    budget=Budget(max_calls=9),
    allow=["add", read_file],
    catalog=Catalog([add]),
)
ToolExecutor([add], timeout=5)  # wrong: no such option
call = ToolCall(id="1", name="add", arguments='{"a": 1}')
call = ToolCall(id="1", name="add", arguments={"a": 1})
ToolCall(id="1", name="add", arguments=[1])  # wrong: a list


def use_result(result: ToolResult[Answer]) -> str:
    if not result.success:
        return f"{result.failure.kind}: {result.failure.advice}"
    number: int = result.value  # wrong: an Answer
    return f"{result.value.text} {number}"


def misuse_result(result: ToolResult[Answer]) -> None:
    print(result.failure.knid)  # wrong: kind
    print(result.value.txet)  # wrong: text
    print(result.pending.to_json())  # wrong: perhaps None
    print(result.sucess)  # wrong: success


def use_executor() -> str:
    result = executor.execute(call, deadline=Deadline.after(1))
    if not result.success:
        kind: Literal["timeout"] = result.failure.kind  # wrong: other kinds too
        for problem in result.failure.problems:
            print(problem.path, problem.what, problem.txet)  # wrong: no such field
        return kind
    for repair in result.repairs:
        print(repair.path, repair.was, repair.now)
    total: int = result.value
    return f"{total} {result.value['rows'][0]}"


def use_results(calls: Iterable[ToolCall]) -> list[str]:
    results = executor.execute_all(calls)
    failed: list[ToolResult[Any]] = [result for result in results if not result.success]
    kinds = [result.failure.kind for result in failed]
    answered: dict[str, ToolResult] = {result.call.id: result for result in results if result.call}
    return [*kinds, *answered, *(result.render() for result in results)]


def match_result(result: ToolResult[int]) -> str:
    match result:
        case ToolResult(success=True, value=value):
            return f"{value}"
        case ToolResult(failure=Failure(kind="timeout" | "deadline")):
            return "late"
        case ToolResult(message=message):
            return message


async def use_async() -> None:
    result = await executor.aexecute(call)
    print(result.value, *(each.message for each in await executor.aexecute_all([call])))
    print(executor.aexecute(call).value)  # wrong: not awaited
    async for item in executor.astream(call):
        if isinstance(item, Chunk):
            print(item.value)
        elif isinstance(item, Progress):
            print(item.done, item.message)
        elif isinstance(item, Beat):
            print(item.running_s)
        else:
            print(item.success, item.value)


def store_approval(pending: PendingApproval) -> str:
    return f"{pending.tool} {pending.arguments['amount'] + 1} {pending.digest} {pending.to_json()}"


def use_approval() -> ToolResult[Any]:
    result = executor.execute(call)
    if result.pending is None:
        return result
    stored = store_approval(result.pending)
    if result.pending.reason == "spend":
        return executor.resume(stored, Approval(approved=True, digest=result.pending.digest, by="ada"))
    executor.resume(stored, "maybe")  # wrong: no answer
    return executor.resume(result.pending, True)


def careful(request: PermissionRequest) -> Decision:
    if request.arguments["amount"] > 500 and request.principal is not None:
        return Decision(verdict="ask", reason=f"more than 500 for {request.principal.id}")
    return Decision(verdict="allow" if request.tool.effect is Effect.READ else "deny")


async def patient(request: PermissionRequest) -> bool:
    return request.params is not None


def not_a_policy(amount: int) -> bool:
    return amount > 500


ToolExecutor([add], policy=careful)
ToolExecutor([add], policy=patient)
ToolExecutor([add], policy=lambda request: request.call.name == "add")
ToolExecutor([add], policy=not_a_policy)  # wrong: takes no request
alone = execute_tool(add, {"a": 1}, session=Session())
print(alone.value + 1, executor.stats, executor.session[ToolInvoked].all()[0].to_dict()["tool"])


# --- resources and state -----------------------------------------------------------------------------


class Database:
    def find(self, id: int) -> str:
        return f"{id}"


class Mailer(Protocol):
    def send(self, to: str) -> bool: ...


class Queue(ABC):
    @abstractmethod
    def put(self, item: str) -> None: ...


class Post:
    def send(self, to: str) -> bool:
        return bool(to)


@tool
def find(id: int, context: ToolContext) -> str:
    """Find something."""
    files: Filesystem = context.resources.get(Filesystem)
    files.write("found.txt", context.resources.get(Database).find(id), mode="append")
    if Queue in context.resources:
        context.resources.get(Queue).put("found")
    if context.resources.get(Mailer).send("ada") and context.deadline is not None:
        print(context.deadline.remaining(), context.resources.get(Clock).monotonic())
    context.resources.get(Database).fnd(id)  # wrong: find
    context.resources.get("database")  # wrong: not a type
    number: int = context.resources.get(Filesystem)  # wrong: files
    return f"{context.filesystem.read('found.txt').content} {number}"


given_resources = {Mailer: Post()}
ToolExecutor([find], resources=given_resources)
ToolExecutor([find], resources={Filesystem: MemoryFilesystem(), Database: Database(), Clock: FakeClock()})
resources = ResourceRegistry({Filesystem: MemoryFilesystem()})
print(resources.get(Filesystem).exists("found.txt"))
ToolExecutor([find], resources={"files": MemoryFilesystem()})  # wrong: not by type
execute_tool(read_file, {"path": "a.txt"}, resources=resources)


@dataclass(frozen=True)
class Seen:
    word: str


@dataclass(frozen=True)
class Words:
    words: tuple[str, ...] = ()

    @reducer(on=Seen)
    def see(self, event: Seen) -> "Words":
        return replace(self, words=(*self.words, event.word))


@tool(effect="reversible")
def note(word: str, context: ToolContext) -> int:
    """Note a word."""
    words = context.session[Words].latest()
    if words is None:
        context.session[Words].seed(Words())
    context.session.dispatch(Seen(word))
    context.session[Seen].append(Seen(word))
    context.session[Seen].append(Words())  # wrong: not Seen
    print(words.words)  # wrong: perhaps None
    return len(context.session[Seen].where(lambda seen: seen.word == word))


session = Session()
session[Words].register()
session.dispatcher.subscribe(Seen, lambda event: print(event.word))
session.dispatcher.subscribe(Seen, lambda event: print(event.wrd))  # wrong: word
stored_words: tuple[Words, ...] = session[Words].all()


# --- prompts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guest:
    name: str


class OncePolicy:
    name = "once"

    def check(self, tool: Tool, params: Mapping[str, Any], *, context: ToolContext) -> PolicyDecision:
        if context.session[Seen].all():
            return PolicyDecision.deny(f"{tool.name} was called with {params}.")
        return PolicyDecision.allow()

    def on_result(self, tool: Tool, params: object, result: ToolResult, *, context: ToolContext) -> None:
        if result.success:
            context.session[Seen].append(Seen(tool.name))


class CostFeedback:
    name = "cost"

    def provide(self, context: FeedbackContext) -> str | None:
        return f"{context.calls} calls" if context.calls > 3 and context.result.success else None


greeting = MarkdownSection[Guest](
    title="Guest", key="guest", template="The guest is $name.", tools=[add, find], policies=[OncePolicy()]
)
planning = PlanningToolsSection(session=session)
prompt = Prompt(name="host", sections=[greeting, planning], feedback=[CostFeedback()])
rendered = prompt.bind(Guest("Ada")).render()
rendered_text: str = rendered.text
ToolExecutor(rendered.tools, prompt=prompt, rendered_prompt=rendered)
plan = session[Plan].latest()
steps = [step.title for step in plan.steps] if plan is not None else []
with prompt.resources as opened:
    print(opened.get(Filesystem).exists("a.txt"))


@tool
def refuse(reason: str) -> str:
    """Refuse."""
    raise ToolValidationError(reason)
