"""A published tool runs its `run`, its upstream endpoint or the tool it forwards to; cycles are refused."""

import asyncio

import pytest

from tests.cases import in_case
from tests.catalog.kit import as_json, loopback_platform, make_project, yaml_text
from toolhaft import Catalog, Principal, Session, ToolCall, ToolExecutor, ToolResult, execute_tool, tool
from toolhaft.catalog.addresses import tool_id_at
from toolhaft.catalog.embedded import EmbeddedPlatform
from toolhaft.catalog.published import PublishedTool
from toolhaft.catalog.runnable import ALL_KINDS, installed_tool, make_runnable
from toolhaft.core.context import ToolContext
from toolhaft.core.events import Beat, Progress
from toolhaft.errors import (
    DefinitionError,
    HttpError,
    ResourceMissingError,
    ToolAuthorizationError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
)
from toolhaft.resources import Filesystem, MemoryFilesystem
from toolhaft.resources.http import HttpClient

URL = "http://127.0.0.1:8420"


def published(id="my-tool", *, upstream=None, **more):
    text = yaml_text(id, more=f'endpoint: "{URL}/v3/tool/{id}"\nis_active: true\n', **more)
    return PublishedTool(
        id=id,
        owner="",
        org="",
        share="private",
        text=text,
        upstream=upstream,
        created_at="",
        updated_at="",
        revision=1,
    )


def ready(one, *, behind=None, installed=None, kinds=frozenset({"http"})):
    return make_runnable(
        one,
        platform_url=URL,
        find_published=(behind or {}).get,
        find_installed=(installed or {}).get,
        kinds=kinds,
    )


@tool(name="echo")
def echo(input: str) -> str:
    """Say it again."""
    return input


def test_run_kind_that_is_not_allowed_is_refused_by_name(tmp_path):
    mark = tmp_path / "made"
    one = published(run=f"{{argv: [touch, '{mark}']}}")
    result = execute_tool(ready(one), {"input": "x"})
    assert result.failure.kind == "not_allowed"
    assert "does not allow argv tools; it is allowed with: toolhaft serve --allow-run argv" in result.message
    assert not mark.exists()
    assert (
        execute_tool(ready(published(run="{python: 'os:abort'}")), {"input": "x"}).failure.kind
        == "not_allowed"
    )


def test_allowed_run_kind_runs():
    one = published(run="{argv: [echo, '-n', '${input}']}")
    assert execute_tool(ready(one, kinds=ALL_KINDS), {"input": "a b; c"}).value == "a b; c"


def test_document_forwards_to_the_installed_tool_with_its_id():
    one = published("echo")
    assert execute_tool(ready(one, installed={"echo": echo}), {"input": "x"}).value == "x"
    assert (
        ready(published("echo", upstream=f"{URL}/v3/tool/echo/"), installed={"echo": echo}).handler
        is not None
    )


def test_document_without_a_target_has_no_handler():
    made = ready(published())
    assert made.handler is None
    assert execute_tool(made, {"input": "x"}).failure.kind == "failed"


def test_tool_deactivated_by_its_author_stays_inactive():
    text = yaml_text("echo", more="is_active: false\nendpoint: http://127.0.0.1:8420/v3/tool/echo\n")
    off = PublishedTool(**{**vars(published("echo")), "text": text})
    assert ready(off, installed={"echo": echo}).handler is None


def test_tool_forwards_to_another_tool_of_the_platform():
    target = ready(published("target", run="{python: 'tests.catalog.test_runnable:shout'}"), kinds=ALL_KINDS)
    clone = ready(published("clone", upstream=f"{URL}/v3/tool/target"), behind={"target": target})
    assert clone.name == "clone"
    assert execute_tool(clone, {"input": "x"}).value == "X"
    assert (
        execute_tool(
            ready(published("clone", upstream=f"{URL}/v3/tool/echo"), installed={"echo": echo}),
            {"input": "x"},
        ).value
        == "x"
    )


def shout(input):
    return input.upper()


def test_removed_forwarding_target_is_reported():
    behind = {"target": echo}
    clone = make_runnable(
        published("clone", upstream=f"{URL}/v3/tool/target"),
        platform_url=URL,
        find_published=behind.get,
        find_installed={}.get,
    )
    behind.clear()
    result = execute_tool(clone, {"input": "x"})
    assert result.message.startswith("clone forwards to 'target', which is not on this platform")


def test_forwarding_cycle_error_names_the_chain():
    ring = {}
    for id, to in (("a", "b"), ("b", "c"), ("c", "a")):
        ring[id] = make_runnable(
            published(id, upstream=f"{URL}/v3/tool/{to}"),
            platform_url=URL,
            find_published=ring.get,
            find_installed={}.get,
        )
    result = execute_tool(ring["a"], {"input": "x"})
    assert not result.success
    assert "a forwards back to itself: a -> b -> c -> a" in result.message


def test_forwarding_cycle_on_the_embedded_platform_is_refused(tmp_path):
    platform = EmbeddedPlatform(make_project(tmp_path))
    platform.put(yaml_text("a", more=f'endpoint: "{platform.url}/v3/tool/b"\n'))
    platform.put(yaml_text("b", more=f'endpoint: "{platform.url}/v3/tool/a"\n'))
    made = platform.runnable("a")
    assert made is platform.runnable("a")
    assert "a forwards back to itself: a -> b -> a" in execute_tool(made, {"input": "x"}).message
    platform.close()


def test_foreign_upstream_is_called_over_http():
    with loopback_platform() as there:
        there.say = lambda *_: as_json(200, {"there": True})
        made = ready(published(upstream=f"{there.url}/hook"))
        closed = execute_tool(made, {"input": "x"})
        assert closed.failure.kind == "failed"
        assert isinstance(closed.failure.error.__cause__, HttpError)
        place = there.url.removeprefix("http://")
        result = execute_tool(made, {"input": "x"}, resources={HttpClient: HttpClient(allow=[place])})
        assert (result.value, result.untrusted) == ({"there": True}, True)
        assert "Authorization" not in there.requests[0][2]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolValidationError("no such city"), "invalid_arguments"),
        (ToolAuthorizationError("not you"), "not_allowed"),
        (ToolTimeoutError("too slow"), "timeout"),
        (ToolExecutionError("broken"), "failed"),
        (KeyError("x"), "failed"),
    ],
)
def test_failure_of_the_target_becomes_the_failure_of_the_call(error, kind):
    @tool(name="target")
    def target(input: str) -> str:
        """Fail."""
        raise error

    result = execute_tool(ready(published("target"), installed={"target": target}), {"input": "x"})
    assert result.failure.kind == kind
    assert result.failure.error.__cause__ is error


def test_target_checks_its_own_arguments_and_limits():
    @tool(name="target")
    def target(input: str, count: int) -> str:
        """Count."""
        return input * count

    @tool(name="target", requires=["money"])
    def dear(input: str) -> str:
        """Cost."""
        return input

    result = execute_tool(ready(published("target"), installed={"target": target}), {"input": "x"})
    assert result.failure.kind == "invalid_arguments"
    assert "count" in result.message
    made = ready(published("target"), installed={"target": dear})
    assert execute_tool(made, {"input": "x"}, principal=Principal(id="me")).failure.kind == "not_allowed"
    rich = Principal(id="me", scopes=["money"])
    assert execute_tool(made, {"input": "x"}, principal=rich).value == "x"


def test_writes_of_the_target_are_rolled_back_with_the_call():
    @tool(name="target", effect="reversible")
    def target(input: str, context: ToolContext) -> str:
        """Write."""
        context.filesystem.write("/a.txt", input)
        return input

    files = MemoryFilesystem()
    made = ready(published("target"), installed={"target": target})
    assert execute_tool(made, {"input": "x"}, resources={Filesystem: files}).success
    assert files.read("/a.txt").content == "x"

    @tool(name="outer", effect="reversible")
    async def outer(context: ToolContext) -> str:
        """Call, then fail."""
        result = await executor.aexecute(ToolCall(name="target", arguments={"input": "other"}))
        assert result.success
        raise ToolExecutionError("after all")

    executor = ToolExecutor([outer, made], session=Session(), resources={Filesystem: files})
    with executor:
        assert not executor.execute(ToolCall(name="outer", arguments={})).success
    assert files.read("/a.txt").content == "x"


def test_attempts_are_counted_for_the_outer_call_only():
    @tool(name="target")
    def target(input: str) -> str:
        """Fail at first."""
        if input != "good":
            raise ToolExecutionError("not this")
        return input

    made = ready(published("target"), installed={"target": target})
    with ToolExecutor([made]) as executor:
        for number in range(3):
            executor.execute(ToolCall(name="target", arguments={"input": f"bad{number}"}))
        assert (
            executor.execute(ToolCall(name="target", arguments={"input": "good"})).failure.kind == "attempts"
        )
        executor.new_run()
        assert executor.execute(ToolCall(name="target", arguments={"input": "good"})).value == "good"


def test_timeout_reaches_the_target():
    ended = []

    @tool(name="target", timeout_s=60)
    async def target(input: str) -> str:
        """Wait."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(input)
        return input

    made = ready(published("target"), installed={"target": target}).replace(timeout_s=0.2)
    assert execute_tool(made, {"input": "x"}).failure.kind == "timeout"
    assert ended == ["x"]


def test_forwarded_result_keeps_message_and_untrusted_mark():
    @tool(name="target")
    def target(input: str) -> ToolResult[str]:
        """Answer."""
        return ToolResult(message="Found", value=input, untrusted=True)

    result = execute_tool(ready(published("target"), installed={"target": target}), {"input": "x"})
    assert (result.message, result.value, result.untrusted) == ("Found", "x", True)


def test_forwarded_failure_keeps_its_untrusted_mark():
    @tool(name="target")
    def target(input: str) -> ToolResult[str]:
        """Fail with a text from elsewhere."""
        return ToolResult(message=f"the page says {input}", success=False, untrusted=True)

    result = execute_tool(ready(published("target"), installed={"target": target}), {"input": "x"})
    assert (result.success, result.untrusted) == (False, True)
    assert result.message.startswith("the page says x")


def test_concurrent_calls_share_one_target_executor():
    made = ready(published("echo"), installed={"echo": echo}).replace(effect="read")

    async def run():
        calls = [ToolCall(name="echo", arguments={"input": str(n)}) for n in range(50)]
        with ToolExecutor([made]) as executor:
            return [result.value for result in await executor.aexecute_all(calls)]

    assert asyncio.run(run()) == [str(n) for n in range(50)]


def test_target_executors_are_bounded(monkeypatch):
    monkeypatch.setattr("toolhaft.catalog.runnable._MAX_EXECUTORS", 2)
    created, ended = [], []

    class Counted(ToolExecutor):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            created.append(self)

        def end_workers(self):
            super().end_workers()
            ended.append(self)

    monkeypatch.setattr("toolhaft.catalog.runnable.ToolExecutor", Counted)
    made = ready(published("echo"), installed={"echo": echo})
    executors = [ToolExecutor([made]) for _ in range(4)]
    for number in (0, 0, 1, 2, 3, 3):
        result = executors[number].execute(ToolCall(name="echo", arguments={"input": str(number)}))
        assert result.value == str(number)
    assert len(created) == 4
    assert ended == created[:2]


def test_handler_can_be_called_directly():
    made = ready(published("echo"), installed={"echo": echo})
    assert asyncio.run(made.handler({"input": "x"}, ToolContext())).value == "x"


def test_tools_found_by_a_target_are_added_to_the_outer_executor():
    @tool(name="target")
    def target(input: str, context: ToolContext) -> list[str]:
        """Find tools."""
        return [one.name for one in context.find_tools(input, limit=1)]

    made = ready(published("target"), installed={"target": target})
    with ToolExecutor([made], catalog=Catalog([echo, made])) as executor:
        call = ToolCall(name="target", arguments={"input": "say it again"})
        assert executor.execute(call).value == ["echo"]
        assert list(executor.tools) == ["target", "echo"]


def test_endpoint_on_the_platform_has_an_id():
    cases = [
        (f"{URL}/v3/tool/a", "a"),
        (f"{URL}/v3/tool/a/", "a"),
        (f"{URL}/v3/tool/", None),
        (f"{URL}/v3/tool/a/b", None),
        (f"{URL}/v3/tool/a?b", None),
        (f"{URL}0/v3/tool/a", None),
        ("https://a.example/v3/tool/a", None),
        ("", None),
        (None, None),
    ]
    for endpoint, id in cases:
        with in_case(endpoint, id):
            assert tool_id_at(URL, endpoint) == id


def test_installed_tools_are_found_automatically():
    assert installed_tool("calculator").name == "calculator"
    assert installed_tool("abacus") is None


def test_embedded_platform_runs_published_tools(tmp_path):
    project = make_project(tmp_path)
    platform = EmbeddedPlatform(project)
    platform.put(yaml_text("where", run="{argv: [pwd]}"))
    assert execute_tool(platform.runnable("where"), {"input": "x"}).value == str(tmp_path)
    platform.put(yaml_text("where2", more=f'endpoint: "{platform.url}/v3/tool/where"\n'))
    assert execute_tool(platform.runnable("where2"), {"input": "x"}).value == str(tmp_path)
    platform.remove("where")
    with pytest.raises(KeyError):
        platform.get("where")
    with pytest.raises(DefinitionError):
        platform.put("id: [")
    platform.close()
    assert [one.id for one in platform.list()] == ["where2"]
    platform.close()


def test_refused_irreversible_call_reports_that_nothing_happened():
    """A document that says no effect counts as irreversible, whatever stands behind it."""

    @tool(name="target", effect="read")
    def target(input: str) -> str:
        """Fail, which changes nothing."""
        raise ToolExecutionError(input)

    @tool(name="target", effect="irreversible")
    def unsure(input: str) -> str:
        """Fail, after who knows what."""
        raise ToolExecutionError(input)

    clone = published("clone", upstream=f"{URL}/v3/tool/target")
    shell = ready(published("shell", run="{argv: [id]}"))
    for made, outcome in (
        (ready(clone, behind={"target": target}), "nothing_happened"),
        (ready(clone, behind={"target": unsure}), "unknown"),
        (ready(clone), "nothing_happened"),
        (shell, "nothing_happened"),
    ):
        assert execute_tool(made, {"input": "x"}).failure.outcome == outcome


def test_beats_and_progress_of_the_tool_behind_are_those_of_the_published_one():
    @tool(name="slow", effect="read")
    async def slow(context: ToolContext, input: str = "") -> str:
        """Work for long."""
        context.beat()
        context.progress(1, 2, "half")
        return "done"

    made = ready(published("slow"), installed={"slow": slow})

    async def watch():
        call = ToolCall(name=made.name, arguments={"input": "x"})
        return [item async for item in ToolExecutor([made]).astream(call)]

    items = asyncio.run(watch())
    assert [type(item) for item in items] == [Beat, Progress, ToolResult]
    assert (items[1].done, items[1].total, items[1].message, items[2].value) == (1, 2, "half", "done")


def test_a_call_on_a_platform_keeps_everything_of_its_context_but_the_resources():
    seen = []

    class Watch:
        def raise_if_ended(self):
            seen.append("asked")

        def beat(self):
            seen.append("beat")

        def progress(self, done, total, message):
            seen.append(message)

    context = ToolContext(session="s", adapter="a", prompt="p", watcher=Watch())
    own = context.with_resources({})
    assert (own.session, own.adapter, own.prompt, own.resources) == ("s", "a", "p", {})
    own.beat()
    own.raise_if_ended()
    own.progress(message="half")
    assert seen == ["beat", "asked", "half"]
    with pytest.raises(ResourceMissingError):
        _ = context.resources
