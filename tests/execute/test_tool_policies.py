"""A tool policy is checked before a call is run, and told of it afterwards."""

import asyncio
import logging

import pytest

from tests.cases import each_case
from tests.execute import process_tools
from tests.execute.calls import both_ways, call, each_way, in_threads, kind_of
from tests.execute.prompt_kit import BarePrompt, Heard, Rule, heard
from toolhaft import (
    BaseTool,
    Deadline,
    Principal,
    RetryPolicy,
    Session,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)
from toolhaft.core.events import Chunk
from toolhaft.core.prompt_hooks import PolicyDecision, ToolPolicy
from toolhaft.errors import VisibilityExpansionRequired
from toolhaft.resources import Filesystem, MemoryFilesystem
from toolhaft.toolbox import read_file


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("no")


def governed(*tools, by, session=None, **options):
    """An executor whose every tool these policies govern."""
    prompt = BarePrompt(tools=tools, policies={"*": by}, resources=options.pop("resources", None))
    return ToolExecutor(prompt=prompt, session=session, **options)


def nothing(*_):
    return False


# --- before ---


@each_way
def test_a_policy_that_denies_keeps_the_handler_from_being_run(run):
    runs = []

    @tool
    def act(context: ToolContext) -> str:
        """Act."""
        runs.append(context)
        return "done"

    rule = Rule(allows=nothing, deny="read it first.")
    executor = governed(act, by=(rule,))
    result = run(executor, call("act"))
    assert result.message == "act is not allowed now: read it first."
    assert (kind_of(result), result.failure.outcome) == ("not_allowed", "nothing_happened")
    assert (runs, rule.told, heard(executor)) == ([], [], [])
    assert repr(executor.session).count("Heard") == 0


@both_ways
def test_policies_after_a_denial_are_not_asked(run):
    rules = [Rule("one"), Rule("two", allows=nothing, deny="two says no"), Rule("three")]
    result = run(governed(add, by=rules), call("add", a=1, b=2))
    assert "two says no" in result.message
    assert [len(rule.checked) for rule in rules] == [1, 1, 0]


@both_ways
def test_a_denial_without_a_reason_names_the_policy(run):
    result = run(governed(add, by=[Rule("quiet", allows=nothing, deny="")]), call("add", a=1, b=2))
    assert result.message == "add is not allowed now: the policy 'quiet' forbids it."


def test_only_the_tools_that_a_policy_governs_are_asked_about():
    rule = Rule(allows=nothing)
    executor = ToolExecutor(prompt=BarePrompt(tools=(add, fail), policies={"fail": (rule,)}))
    assert executor.execute(call("add", a=1, b=2)).success
    assert kind_of(executor.execute(call("fail"))) == "not_allowed"
    assert [name for name, *_ in rule.checked] == ["fail"]


def test_a_policy_is_not_asked_about_a_call_refused_earlier():
    rule = Rule()
    executor = governed(add, by=(rule,), policy=lambda request: request.arguments["a"] != 13)
    assert kind_of(executor.execute(call("add", a="x", b=2))) == "invalid_arguments"
    assert kind_of(executor.execute(call("add", a=13, b=2))) == "not_allowed"
    assert kind_of(executor.execute(call("add", a=1, b=2), deadline=Deadline.after(0))) == "deadline"
    assert (rule.checked, rule.told) == ([], [])


def test_a_denial_is_no_failed_attempt():
    """A tool that may not be retried was not tried: it may be called again once it is its turn."""
    ready = []

    @tool(retryable=False, max_attempts=1)
    def deploy() -> str:
        """Deploy."""
        return "deployed"

    executor = governed(deploy, by=[Rule(allows=lambda *_: ready)])
    assert [kind_of(executor.execute(call("deploy"))) for _ in range(3)] == ["not_allowed"] * 3
    ready.append(True)
    assert executor.execute(call("deploy")).value == "deployed"


# --- what a policy sees ---


@both_ways
def test_the_context_of_a_check_is_read_only(run):
    session = Session()
    session[Heard].append(Heard("before", "", True))
    tried = []

    def look(_, params, context):
        tried.append((context.session[Heard].latest().policy, context.filesystem.read("a.txt").content))
        for write in (
            lambda: context.session[Heard].append(Heard("x", "x", True)),
            lambda: context.filesystem.write("a.txt", "changed"),
        ):
            with pytest.raises(PermissionError):
                write()
        return params == {"a": 1, "b": 2}

    rule = Rule(allows=look)
    files = {Filesystem: MemoryFilesystem({"a.txt": "kept"})}
    ada = Principal(id="ada")
    executor = governed(add, by=(rule,), session=session, resources=files, adapter="A", principal=ada)
    one = call("add", a=1, b=2)
    assert run(executor, one).value == 3
    context = rule.checked[0][2]
    assert (context.prompt, context.rendered_prompt) == (executor.prompt, executor.rendered_prompt)
    assert (context.adapter, context.principal, context.call) == ("A", ada, one)
    assert context.deadline is None
    assert 0 < context.time_limit.remaining() <= 10
    assert tried == [("before", "kept")]
    assert executor.resources.get(Filesystem).read("a.txt").content == "kept"


@both_ways
def test_the_context_of_a_check_is_closed_after_it(run):
    rule = Rule()
    executor = governed(add, by=(rule,), resources={Filesystem: MemoryFilesystem({"a.txt": "x"})})
    run(executor, call("add", a=1, b=2))
    context = rule.checked[0][2]
    with pytest.raises(RuntimeError, match="has ended"):
        context.session[Heard].append(Heard("late", "", True))
    with pytest.raises(RuntimeError, match="has ended"):
        _ = context.filesystem


def test_a_policy_gets_the_arguments_as_they_were_before_the_handler():
    def run(given: dict) -> str:
        given.clear()
        return "done"

    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    config = ToolConfig(
        name="take",
        description="Take.",
        input_schema=schema,
        output_schema={"type": "string"},
        execute=run,
    )
    rule = Rule()
    assert governed(create_tool(config), by=(rule,)).execute(call("take", path="a")).success
    assert rule.told[0][1] == {"path": "a"}


# --- after ---


@each_way
def test_a_policy_gets_successes_and_failures_and_its_writes_are_committed(run):
    executor = governed(add, fail, by=[Rule("one"), Rule("two")])
    assert run(executor, call("add", a=1, b=2)).value == 3
    assert run(executor, call("fail")).failure.kind == "failed"
    assert heard(executor) == [
        ("one", "add", True),
        ("two", "add", True),
        ("one", "fail", False),
        ("two", "fail", False),
    ]


def test_a_policy_gets_one_result_even_after_retries():
    tries = []

    @tool(effect="idempotent")
    def flaky() -> str:
        """Fail once."""
        tries.append(None)
        if len(tries) == 1:
            raise ValueError("not yet")
        return "done"

    rule = Rule()
    executor = governed(flaky, by=(rule,), retry=RetryPolicy(max_attempts=3, backoff_s=0))
    result = executor.execute(call("flaky"))
    assert (result.value, len(tries)) == ("done", 2)
    assert [(name, told) for name, _, told, _ in rule.told] == [("flaky", result)]


def test_resources_are_read_only_in_on_result(caplog):
    class Scribe(Rule):
        def on_result(self, tool, params, result, *, context):
            super().on_result(tool, params, result, context=context)
            context.filesystem.write("a.txt", "changed")

    files = {Filesystem: MemoryFilesystem({"a.txt": "kept"})}
    executor = governed(add, by=[Scribe()], resources=files)
    assert executor.execute(call("add", a=1, b=2)).value == 3
    assert executor.resources.get(Filesystem).read("a.txt").content == "kept"
    assert heard(executor) == []
    assert "the policy rule could not write about the result of add" in caplog.text


def test_a_policy_gets_no_result_of_a_section_request():
    @tool
    def expand() -> str:
        """Ask for more."""
        raise VisibilityExpansionRequired("more")

    rule = Rule()
    with pytest.raises(VisibilityExpansionRequired):
        governed(expand, by=(rule,)).execute(call("expand"))
    assert (len(rule.checked), rule.told) == (1, [])


def test_a_policy_gets_a_cached_result_without_being_asked():
    """Nothing is run, so there is nothing to allow; but the model has the result now."""
    asked = []

    @tool(effect="read", cache_s=60)
    def cached(path: str) -> str:
        """Read."""
        return path

    rule = Rule(allows=lambda *_: not asked.append(None) and len(asked) == 1)
    executor = governed(cached, by=(rule,))
    values = [executor.execute(call("cached", path="a")).value for _ in range(2)]
    assert (values, len(asked)) == (["a", "a"], 1)
    assert heard(executor) == [("rule", "cached", True)] * 2
    keyed = [executor.execute(call("cached", path="b", idempotency_key="k")) for _ in range(2)]
    assert [kind_of(one) for one in keyed] == ["not_allowed"] * 2  # a refusal is not recorded
    assert len(asked) == 3


def test_a_policy_gets_a_replayed_result():
    executor = governed(add, by=[Rule()])
    values = [executor.execute(call("add", a=1, b=2), idempotency_key="k").value for _ in range(2)]
    assert values == [3, 3]
    assert heard(executor) == [("rule", "add", True)] * 2


# --- policies that go wrong ---


class Broken:
    name = "broken"

    def __init__(self, check=lambda: PolicyDecision.allow(), on_result=lambda: None):  # noqa: PLW0108 -- made late
        self._check = check
        self._on_result = on_result

    def check(self, tool, params, *, context):
        return self._check()

    def on_result(self, tool, params, result, *, context):
        context.session[Heard].append(Heard("broken", tool.name, result.success))
        return self._on_result()


def raising():
    raise KeyError("secret detail")


async def later():
    return PolicyDecision.allow()


class Awaitable:
    def __await__(self):
        yield


@each_case(
    ("check", "reason"),
    [
        (raising, "the policy 'broken' failed (KeyError)"),
        (lambda: None, "the policy 'broken' answered None, not a PolicyDecision"),
        (lambda: True, "the policy 'broken' answered True, not a PolicyDecision"),
        (lambda: PolicyDecision(allowed="no"), "the policy 'broken' forbids it"),
        (later, "the policy 'broken' is async, and a check cannot wait"),
        (Awaitable, "the policy 'broken' is async, and a check cannot wait"),
    ],
)
@each_way
def test_a_policy_that_gives_no_clear_answer_allows_nothing(run, check, reason, caplog):
    caplog.set_level(logging.ERROR)
    result = run(governed(add, by=[Broken(check)]), call("add", a=1, b=2))
    assert (kind_of(result), result.message) == ("not_allowed", f"add is not allowed now: {reason}.")
    is_told = reason != "the policy 'broken' forbids it"  # that one did answer
    assert ["broken" in one.message for one in caplog.records] == [True] * is_told


def test_an_object_that_is_not_a_policy_allows_nothing():
    result = governed(add, by=[object()]).execute(call("add", a=1, b=2))
    assert result.message == "add is not allowed now: the policy 'object' failed (AttributeError)."


@each_case(
    ("on_result", "said"),
    [
        (raising, "the policy broken failed on the result of add"),
        (later, "the policy broken has an async on_result"),
    ],
)
@each_way
def test_a_policy_whose_on_result_fails_changes_no_outcome(run, on_result, said, caplog):
    executor = governed(add, by=[Broken(on_result=on_result), Rule("after")])
    assert run(executor, call("add", a=1, b=2)) == ToolResult(value=3)
    assert said in caplog.text
    kept = [] if on_result is raising else [("broken", "add", True)]
    assert heard(executor) == [*kept, ("after", "add", True)]


@both_ways
def test_a_policy_cannot_call_tools(run):
    """It would wait for the call that it is asked about, or be asked about its own call without end."""
    answers = []

    def call_it(*_):
        answers.append(executor.execute(call("act")))
        return True

    @tool(effect="reversible")
    def act(context: ToolContext) -> str:
        """Act."""
        return "done"

    executor = governed(act, by=[Rule(allows=call_it)])
    assert run(executor, call("act")).value == "done"
    assert [one.message for one in answers] == ["the call of act is over, and so act was not run."]


# --- nested calls ---


def nesting(**options):
    """A tool that has another one add, and then ends as it is told."""

    @tool(name="outer", **options)
    def outer(ending: str, context: ToolContext) -> str:
        """Have another tool add."""
        executor[0].execute(call("add", a=1, b=2))
        seen.append([one.tool for one in context.session[Heard]])
        if ending == "fail":
            raise ValueError("no")
        return "done"

    seen = []
    executor = [governed(outer, add, by=[Rule()])]
    return executor[0], seen


@each_way
def test_writes_about_a_nested_call_are_committed_with_its_parent(run):
    executor, seen = nesting(effect="reversible")
    assert run(executor, call("outer", ending="well")).success
    assert heard(executor) == [("rule", "add", True), ("rule", "outer", True)]
    assert seen == [["add"]]


@each_way
def test_writes_about_a_nested_call_are_rolled_back_with_its_parent(run):
    executor, seen = nesting(effect="reversible")
    assert not run(executor, call("outer", ending="fail")).success
    assert seen == [["add"]]
    assert heard(executor) == [("rule", "outer", False)]


def test_a_policy_cannot_write_about_calls_nested_in_a_read_only_tool(caplog):
    caplog.set_level(logging.WARNING)
    executor, seen = nesting(effect="read")
    assert executor.execute(call("outer", ending="well")).success
    assert (seen, heard(executor)) == ([[]], [("rule", "outer", True)])
    assert "the policy rule could not write about the result of add: this call may only read" in caplog.text


# --- wherever a tool is run ---


@each_way
def test_policies_are_asked_about_files_read_in_parallel(run):
    rule = Rule()
    files = {Filesystem: MemoryFilesystem({"a.txt": "x"})}
    executor = governed(read_file, by=(rule,), resources=files)
    assert run(executor, call("read_file", path="a.txt")).value["content"] == "x"
    assert not run(executor, call("read_file", path="none.txt")).success
    assert heard(executor) == [("rule", "read_file", True), ("rule", "read_file", False)]
    rule.allows = nothing
    assert kind_of(run(executor, call("read_file", path="a.txt"))) == "not_allowed"


def test_a_stream_is_checked_before_its_first_chunk_and_reported_once():
    @tool
    def words(text: str):
        """Say the words one by one."""
        yield from text.split()

    rule = Rule()
    executor = governed(words, by=(rule,))

    async def items():
        return [item async for item in executor.astream(call("words", text="a b"))]

    got = asyncio.run(items())
    assert [item.value for item in got if isinstance(item, Chunk)] == ["a", "b"]
    assert [result.value for _, _, result, _ in rule.told] == ["ab"]
    rule.allows = nothing
    assert [kind_of(item) for item in asyncio.run(items())] == ["not_allowed"]


@pytest.mark.external
def test_policies_are_asked_about_tools_in_processes():
    with governed(process_tools.add, by=[Rule()], max_processes=1) as executor:
        assert executor.execute(call("add", a=1)).value == 2
        assert heard(executor) == [("rule", "add", True)]


def test_policies_get_the_results_of_all_parallel_calls():
    executor = governed(add, by=[Rule()])
    in_threads([lambda: executor.execute_all([call("add", a=1, b=2)] * 10)] * 4)
    assert heard(executor) == [("rule", "add", True)] * 40


def test_a_denied_call_does_not_use_up_extras():
    class Hand(BaseTool):
        spec = ToolSpec(
            name="hand",
            description="Hand on.",
            when_to_use="Always.",
            inputs=[ToolParam(name="a", type="string", description="A.", required=True)],
            returns=ToolReturn(type="string", description="What was handed on."),
        )

        def __call__(self, a: str, given: str = "nothing") -> ToolResponse:
            return ToolResponse(observation=given, extras={"given": a})

    allowed = [True]
    executor = governed(Hand(), by=[Rule(allows=lambda *_: allowed[0])])
    assert executor.execute(call("hand", a="x")).value == "nothing"
    allowed[0] = False
    assert kind_of(executor.execute(call("hand", a="y"))) == "not_allowed"
    allowed[0] = True
    assert executor.execute(call("hand", a="z")).value == "x"


def test_the_test_policy_implements_the_protocol():
    assert isinstance(Rule(), ToolPolicy)
    assert isinstance(Broken(), ToolPolicy)
