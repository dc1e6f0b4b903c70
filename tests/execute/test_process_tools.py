"""Tools with isolation="process", through the executor: they can be killed, and their context works."""

import asyncio
import threading
from pathlib import Path

import pytest

from tests.cases import in_case
from tests.execute import process_tools as tools
from tests.execute.process_tools import Connection, Greeting, Settings, Shout
from tests.execute.world import WAYS, Item, Note, World, call, tree_of, wait_until
from toolhaft import Budget, Deadline, Principal, Tool, ToolCall, ToolExecutor, tool
from toolhaft.core.events import Chunk, Progress
from toolhaft.errors import DefinitionError
from toolhaft.execute import workers
from toolhaft.resources import Filesystem, MemoryFilesystem, ResourceRegistry


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with World(tmp_path_factory.mktemp("root"), tools.TOOLS, max_processes=2) as made:
        yield made


@pytest.fixture
def fresh(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    with World(root, tools.TOOLS, max_processes=1) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_results_come_back_whatever_the_caller_is(world, way):
    results = world.run(way, call("add", a=1, b=2), call("add", a=5), call("add_async", a=3, b=4))
    assert [result.value for result in results] == [3, 6, 7]


def test_arguments_are_checked_before_they_are_sent(world):
    (result,) = world.run("execute", call("add", a="one"))
    assert result.failure.kind == "invalid_arguments"


def test_typed_parameters_arrive_as_their_type_and_so_do_results(world):
    (result,) = world.run("execute", call("greet", name="Ada", tags=["a", "b"]))
    assert result.value == Greeting(text="hello Ada", length=2)
    assert result.message == "greet"


def test_one_worker_serves_call_after_call(world):
    assert len({world.run("execute", call("whoami"))[0].value for _ in range(5)}) == 1


def test_a_process_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(workers, "_KILL_S", -tools.add.timeout_s)  # does not wait at all
    with ToolExecutor([tools.add], max_processes=1) as executor:
        result = executor.execute(call("add", a=1))
        assert result.failure.kind == "timeout"
        assert "its process does not answer" in result.message
        assert executor.stats.abandoned_threads == 1


def test_a_class_tool_runs_with_its_runtime_values_and_hands_its_extras_on():
    """`tool(**validated, **runtime_ctx)`, extras for the next call only, `final_answer` on the result."""
    with ToolExecutor([Shout("!")], runtime={"user": "Ada", "unused": 1}, max_processes=1) as executor:
        first, second = (executor.execute(call("shout", text=text)) for text in ("hey", "end"))
    assert (first.value, first.final) == ("Ada: HEY! (after None)", False)
    assert (second.value, second.final) == ("Ada: END! (after hey)", True)


def test_session_and_file_writes_commit_in_the_host(fresh):
    (result,) = fresh.run("execute", call("change", text="new", ending="return"))
    assert result.value == ["new", "new dispatched", "new", "made/new.txt"]
    assert [note.text for note in fresh.session[Note].all()] == ["old", "new", "new dispatched"]
    assert fresh.session[Item].all() == (Item("shared", 3),)
    assert tree_of(fresh.host) == {"kept.txt": b"new", "made": None, "made/new.txt": b"new"}


KINDS = {
    "raise": "failed",
    "error": "failed",
    "wrong": "invalid_output",
    "hang": "timeout",
    "die": "failed",
    "exit": "failed",
}


@pytest.mark.parametrize("way", ["execute", "aexecute_all"])
@pytest.mark.parametrize("ending", KINDS)
def test_a_call_that_fails_in_its_process_is_rolled_back_in_the_host(world, ending, way):
    state = world.state()
    name = "change_quick" if ending == "hang" else "change"  # a worker that was killed before starts slowly
    (result,) = world.run(way, call(name, text="new", ending=ending))
    assert result.failure.kind == KINDS[ending]
    assert result.failure.outcome == "rolled_back"
    assert world.state() == state


def test_a_tool_that_may_only_read_cannot_write_from_its_process(world):
    state = world.state()
    for how in ("append", "clear an empty slice"):
        (result,) = world.run("execute", call("change_read_only", how=how))
        with in_case(how):
            assert "may only read" in result.message
            assert result.failure.outcome == "nothing_happened"
            assert world.state() == state


def test_the_message_says_how_a_process_died(fresh):
    fresh.executor.new_run()
    (result,) = fresh.run("execute", call("change", text="new", ending="die"))
    assert "SIGKILL" in result.message
    (result,) = fresh.run("execute", call("change", text="new", ending="exit"))
    assert "exit code 7" in result.message


def alive(pids):
    return [pid for pid in pids if is_running(pid)]


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or during the reading
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def pids_of(marker):
    return [int(pid) for pid in marker.read_text().split()] if marker.exists() else []


def test_a_runaway_is_killed_with_its_children_and_grandchildren(world, tmp_path):
    """Its handler never returns, so that a result shows that the limit ended it, with the whole process tree."""
    state = world.state()
    killed = world.executor.stats.killed_processes
    for attempt in range(5):
        marker = tmp_path / str(attempt)
        (result,) = world.run("execute", call("run_away", marker=str(marker)))
        assert result.failure.kind == "timeout"
        assert "killed, with everything that it had started" in result.message
        assert wait_until(lambda marker=marker: not alive(pids_of(marker)))
        if len(pids_of(marker)) == 2:  # on a busy machine the children may not have started in time
            break
    assert len(pids_of(marker)) == 2
    assert world.executor.stats.killed_processes == killed + attempt + 1
    assert world.state() == state


def test_siblings_of_a_runaway_finish(world, tmp_path):
    calls = [call("run_away", marker=str(tmp_path / "m")), *(call("add", a=n) for n in range(20))]
    results = world.run("execute_all", *calls)
    assert [result.value for result in results] == [None, *range(1, 21)]


def test_a_cancelled_caller_kills_the_process(world, tmp_path):
    async def main():
        slow = tools.run_away.replace(timeout_s=60)
        with world.another([slow], max_processes=1) as executor:
            task = asyncio.ensure_future(executor.aexecute(call("run_away", marker=str(marker))))
            while len(pids_of(marker)) < 2:  # noqa: ASYNC110 -- processes have no other way to tell
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert wait_until(lambda: not alive(pids_of(marker)))
            assert executor.stats.killed_processes == 1

    state, marker = world.state(), tmp_path / "marker"
    asyncio.run(main())
    assert world.state() == state


def test_a_deadline_kills_the_process(world, tmp_path):
    state = world.state()
    slow = tools.run_away.replace(timeout_s=60)
    with world.another([slow]) as executor:
        result = executor.execute(call("run_away", marker=str(tmp_path / "m")), deadline=Deadline.after(0.4))
        assert executor.stats.killed_processes == 1
    assert result.failure.kind == "deadline"
    assert not alive(pids_of(tmp_path / "m"))
    assert world.state() == state


def test_a_budget_of_time_kills_the_process(world, tmp_path):
    slow = tools.run_away.replace(timeout_s=60)
    with world.another([slow], budget=Budget(max_wall_s=0.5)) as executor:
        result = executor.execute(call("run_away", marker=str(tmp_path / "m")))
    assert result.failure.kind == "budget"
    assert not alive(pids_of(tmp_path / "m"))


def test_closing_the_executor_ends_what_still_runs(world, tmp_path):
    slow = tools.run_away.replace(timeout_s=60)
    marker = tmp_path / "marker"
    executor = ToolExecutor([slow], resources={Filesystem: MemoryFilesystem()}, max_processes=1)
    results = []
    caller = threading.Thread(
        target=lambda: results.append(executor.execute(call("run_away", marker=str(marker))))
    )
    caller.start()
    assert wait_until(lambda: len(pids_of(marker)) == 2)
    executor.close()
    caller.join(20)
    assert not results[0].success
    assert wait_until(lambda: not alive(pids_of(marker)))


def test_the_memory_of_a_process_is_capped_and_the_host_lives(world):
    with world.another([tools.eat_memory, tools.add], process_memory_bytes=300_000_000) as executor:
        eaten, added = executor.execute_all([call("eat_memory"), call("add", a=1)])
    assert eaten.failure.kind == "failed"
    assert "MemoryError" in eaten.message
    assert added.value == 2


def test_a_process_has_an_empty_environment_and_no_inherited_handles(world, tmp_path, monkeypatch):
    """Child processes get an empty environment."""
    monkeypatch.setenv("TOKEN", "hunter2")
    with (tmp_path / "secret.txt").open("w"), ToolExecutor([tools.look_around], max_processes=1) as executor:
        value = executor.execute(call("look_around")).value
    assert value == {"environment": {}, "files": [], "stdin": ""}


def closure_of(number):
    def enclosed() -> int:
        return number

    return enclosed


@pytest.mark.parametrize(
    "handler",
    [closure_of(1), lambda: 1, threading.Lock().acquire],
    ids=["closure", "lambda", "method of what cannot travel"],
)
def test_a_handler_that_cannot_be_pickled_is_refused_with_the_name_of_its_tool(handler):
    made = Tool(
        name="grounded",
        description="Stay here.",
        input_schema={"type": "object"},
        handler=handler,
        isolation="process",
    )
    with pytest.raises(
        DefinitionError, match=r"tool 'grounded', isolation='process': .* cannot be sent"
    ) as caught:
        ToolExecutor([tools.add, made])
    assert "isolation='thread'" in caught.value.fix


def test_a_function_inside_a_function_is_refused_by_its_name():
    @tool(isolation="process")
    def inner() -> int:
        """Stay here."""
        return 1

    with pytest.raises(DefinitionError, match=r"tool 'inner'.*it has no importable name"):
        ToolExecutor([inner])


def test_runtime_values_that_cannot_be_pickled_are_reported():
    with ToolExecutor([Shout("!")], runtime={"user": threading.Lock()}, max_processes=1) as executor:
        result = executor.execute(call("shout", text="hey"))
    assert result.failure.kind == "failed"
    assert "cannot be sent to a process" in result.message
    assert result.failure.outcome == "nothing_happened"


def test_a_value_that_cannot_be_pickled_is_reported(world):
    (result,) = world.run("execute", call("give_lock"))
    assert result.failure.kind == "failed"
    assert "_thread.lock cannot be sent out of the process" in result.message


def test_nothing_that_comes_out_of_a_process_runs_code_in_the_host(world, tmp_path):
    mark = tmp_path / "mark"
    for way in ("return", "result", "raise", "session", "slice", "progress"):
        (result,) = world.run("execute", call("spring", path=str(mark), way=way))
        assert (result.success, result.failure.kind, mark.exists()) == (False, "failed", False), way
        assert (
            "TrapError" in result.message if way == "raise" else "Trap is not data. Fix: " in result.message
        )
    assert not stream(world, call("spring_stream", path=str(mark)))[-1].success
    assert not mark.exists()


def test_a_plain_resource_is_copied_and_one_with_rollback_is_refused():
    resources = ResourceRegistry({Settings: Settings("blue"), Connection: Connection()})
    used = [tools.use_settings, tools.use_connection, tools.use_files, tools.list_resources]
    with ToolExecutor(used, resources=resources, max_processes=1) as executor:
        settings, connection, files, listed = executor.execute_all(call(made.name) for made in used)
    assert settings.value == "blue"
    assert connection.failure.kind == "failed"
    assert "the resource Connection cannot be sent to a process" in connection.message
    assert "isolation='thread'" in connection.message
    assert "no resource Filesystem was given" in files.message
    assert listed.value == [True, True, False]


def test_the_context_is_the_one_of_the_call():
    with ToolExecutor(
        [tools.describe],
        prompt="a prompt",
        adapter="an adapter",
        principal=Principal(id="ada"),
        budget=Budget(max_calls=5),
        max_processes=1,
    ) as executor:
        result = executor.execute(ToolCall(id="c7", name="describe"))
    assert result.value == {
        "prompt": "a prompt",
        "adapter": "an adapter",
        "principal": "ada",
        "call": "c7",
        "has_time": True,
        "calls": 1,
    }


def stream(world, one):
    async def gather():
        return [item async for item in world.executor.astream(one)]

    world.executor.new_run()
    return asyncio.run(gather())


def test_chunks_arrive_one_by_one_and_the_result_is_the_whole(world):
    *chunks, result = stream(world, ToolCall(id="c", name="count_up", arguments={"to": 3}))
    assert chunks == [Chunk(call_id="c", value=number) for number in range(3)]
    assert result.value == [0, 1, 2]
    *chunks, result = stream(world, ToolCall(id="c", name="spell", arguments={"text": "abc"}))
    assert [chunk.value for chunk in chunks] == ["a", "b", "c"]
    assert result.value == "abc"


def test_progress_arrives(world):
    *news, result = stream(world, ToolCall(id="c", name="report"))
    assert news == [
        Progress(call_id="c", done=1, total=2, message="half"),
        Progress(call_id="c", done=2, total=2, message="done"),
    ]
    assert result.value == "done"


def test_a_stream_is_whole_for_callers_who_do_not_stream(world):
    assert world.run("execute", call("count_up", to=3))[0].value == [0, 1, 2]
    assert world.run("aexecute", call("spell", text="abc"))[0].value == "abc"
