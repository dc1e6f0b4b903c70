"""What a context hands out: the call's own view of session, files and resources."""

import gc
from dataclasses import dataclass

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from tests.execute.state_kit import (
    AFTER,
    BEFORE,
    Note,
    raising,
    scribble,
    state_of,
    world,
    write,
)
from toolhaft import (
    BaseTool,
    Budget,
    RetryPolicy,
    Session,
    Tool,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    tool,
)
from toolhaft.errors import ResourceError, ResourceMissingError
from toolhaft.prompt import Prompt
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem, ResourceRegistry


@each_way
def test_a_tool_that_needs_a_filesystem_says_how_to_give_one(run):

    @tool
    def read(context: ToolContext) -> str:
        """Read."""
        return context.filesystem.read("a.txt").content

    result = run(ToolExecutor([read]), call("read"))
    assert kind_of(result) == "failed"
    assert isinstance(result.failure.error, ResourceError)
    assert "no resource Filesystem was given" in result.message
    assert "ToolExecutor(..., resources={Filesystem: " in result.message


@both_ways
def test_context_filesystem_is_the_filesystem_resource(run):

    @tool
    def look(context: ToolContext) -> bool:
        """Compare."""
        return context.resources.get(Filesystem) is context.filesystem

    assert run(world(look), call("look")).value is True


@both_ways
def test_resources_given_as_a_registry_work_as_those_in_a_mapping(run):
    @tool
    def read(context: ToolContext) -> str:
        """Read."""
        return context.filesystem.read("kept.txt").content

    registry = ResourceRegistry({Filesystem: MemoryFilesystem({"kept.txt": "x"})})
    assert run(ToolExecutor([read], resources=registry), call("read")).value == "x"


@both_ways
def test_an_absolute_path_inside_the_root_works_and_outside_it_is_denied(run, tmp_path):
    """An absolute path inside the root works, outside it is `Permission denied`."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.txt").write_text("inside")
    (tmp_path / "out.txt").write_text("outside")

    @tool
    def read(path: str, context: ToolContext) -> str:
        """Read a file."""
        return context.filesystem.read(path).content

    with HostFilesystem(root) as files:
        executor = ToolExecutor([read], resources={Filesystem: files})
        assert run(executor, call("read", path="in.txt")).value == "inside"
        assert run(executor, call("read", path=str(root / "in.txt"))).value == "inside"
        for path in (str(tmp_path / "out.txt"), "../out.txt", "/etc/hostname"):
            refused = run(executor, call("read", path=path))
            assert kind_of(refused) == "failed"
            assert f"Permission denied: {path}" in refused.message
            executor.new_run()


@both_ways
def test_files_on_the_host_are_rolled_back_too(run, tmp_path):
    (tmp_path / "kept.txt").write_text("before")
    with HostFilesystem(tmp_path) as files:
        session = Session()
        session[Note].append(Note("before"))
        executor = ToolExecutor(
            [raising(ValueError("no")), write], session=session, resources={Filesystem: files}
        )
        assert kind_of(run(executor, call("act"))) == "failed"
        assert state_of(executor) == BEFORE
        assert run(executor, call("write", text="inside")).success
        assert state_of(executor) == AFTER


def test_a_context_is_read_only_and_has_all_its_attributes():
    seen = {}

    @tool
    def look(context: ToolContext) -> str:
        """Look around."""
        seen.update(
            prompt=context.prompt,
            rendered=context.rendered_prompt,
            adapter=context.adapter,
            call=context.call,
        )
        assert context.deadline is None
        assert context.time_limit.remaining() > 0
        assert context.budget_tracker.budget.max_calls == 5
        context.beat()
        try:
            context.prompt = "other"
        except AttributeError as error:
            return str(error)
        return "it was set"

    executor = ToolExecutor(
        [look], prompt="P", rendered_prompt="R", adapter="A", budget=Budget(max_calls=5), session=Session()
    )
    one = call("look", id="c")
    assert executor.execute(one).value == "a ToolContext is read-only: 'prompt' cannot be set"
    assert seen == {"prompt": "P", "rendered": "R", "adapter": "A", "call": one}


def test_a_retry_begins_with_a_fresh_fork():
    tried = []

    @tool(effect="reversible")
    def act(context: ToolContext) -> str:
        """Fail the first time."""
        tried.append(state_of(executor))
        scribble(context)
        if len(tried) == 1:
            raise ConnectionError("no line")
        return "done"

    executor = world(act, retry=RetryPolicy(backoff_s=0))
    assert executor.execute(call("act")).success
    assert tried == [BEFORE, BEFORE]
    assert state_of(executor) == AFTER


def test_typed_tools_work_in_a_transaction_too():
    @dataclass(frozen=True)
    class Params:
        ok: bool

    def handle(params: Params, *, context: ToolContext) -> ToolResult[None]:
        """Write."""
        scribble(context)
        return ToolResult.ok(None) if params.ok else ToolResult.error("no")

    executor = world(Tool[Params, None](name="act", description="Act.", handler=handle))
    events = hear(executor)
    assert not executor.execute(call("act", ok=False)).success
    assert state_of(executor) == BEFORE
    assert executor.execute(call("act", ok=True)).success
    assert state_of(executor) == AFTER
    assert [event.success for event in events] == [False, True]


def test_a_deleted_executor_leaves_no_subscription_on_its_session():
    """A soak must leak no memory: an executor a request, on one long-lived session."""
    session = Session()
    for _ in range(50):
        assert ToolExecutor([write], session=session, resources={Filesystem: MemoryFilesystem()}).execute(
            call("write", text="x")
        )
    gc.collect()
    ToolExecutor([write], session=session)
    assert len(session._state.shared.subscribers._changes) <= 2  # noqa: SLF001 -- that nothing is left is the point


class ClassWrite(BaseTool):
    spec = ToolSpec(
        name="act",
        description="Writes.",
        when_to_use="Use to write.",
        inputs=[ToolParam(name="ok", type="boolean", description="Whether it works")],
        returns=ToolReturn(type="string", description="What was written"),
    )

    def __call__(self, *, ok, context: ToolContext, **kwargs):
        scribble(context)
        if not ok:
            raise ValueError("no")
        return ToolResponse(observation="inside")


def raw_write(given, context: ToolContext):
    scribble(context)
    if not given["ok"]:
        raise ValueError("no")
    return "inside"


RAW = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CONFIG = ToolConfig(name="act", description="Writes.", input_schema=RAW, execute=raw_write)


@each_way
@each_case("thing", [ClassWrite(), CONFIG], ids=["class", "config"])
def test_a_handler_defined_in_any_way_may_take_a_context(run, thing):
    """Five ways to define a tool, one Tool; a parameter annotated with ToolContext is handed the call's own."""
    executor = world(thing)
    assert kind_of(run(executor, call("act", ok=False))) == "failed"
    assert state_of(executor) == BEFORE
    assert run(executor, call("act", ok=True)).value == "inside"
    assert state_of(executor) == AFTER
    assert kind_of(run(executor, call("act", ok=True, context=1))) == "invalid_arguments"


def test_a_resource_is_looked_up_with_brackets_or_with_get():
    class Clock:
        pass

    clock, registry = Clock(), ResourceRegistry()
    registry.provide(Clock, lambda: clock)
    prompt = Prompt(name="p", sections=[], resources=registry)

    @tool
    def look(context: ToolContext) -> bool:
        """Look up a resource."""
        return context.resources[Clock] is context.resources.get(Clock) is clock

    assert ToolExecutor([look], resources=registry).execute(call("look")).value is True
    assert ToolExecutor([look], prompt=prompt).execute(call("look")).value is True
    assert registry[Clock] is clock
    with prompt.resources:
        assert prompt.resources[Clock] is clock
    with pytest.raises(ResourceMissingError, match="Filesystem"):
        _ = registry[Filesystem]
