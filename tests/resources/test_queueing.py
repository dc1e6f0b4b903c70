"""Calls that change one file through several filesystems: they wait for each other within their time limit."""

import asyncio
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolhaft import Deadline, ToolCall, ToolContext, ToolExecutor, tool
from toolhaft.errors import CallEndedError, FileBusyError
from toolhaft.resources import Filesystem, HostFilesystem, host_fork
from toolhaft.resources.journal_log import read_log

pytestmark = pytest.mark.external


@pytest.fixture
def root(quick_path):
    (quick_path / "log.txt").write_text("")
    return quick_path


@tool(effect="reversible", timeout_s=60)
def note(text: str, context: ToolContext) -> int:
    """Append a line, in two steps."""
    context.filesystem.write("log.txt", text, mode="append")
    return context.filesystem.write("log.txt", "\n", mode="append")


@tool(effect="reversible", timeout_s=60)
def make(name: str, context: ToolContext) -> int:
    """Write a file in a new folder."""
    return context.filesystem.write(f"new/{name}", name)


def execute(root, name, /, **arguments):
    """One call on an executor of its own, as a server does per request."""
    with ToolExecutor([note, make], resources={Filesystem: HostFilesystem(root, durable=False)}) as executor:
        return executor.execute(ToolCall(name=name, arguments=arguments))


def test_calls_of_many_executors_on_one_file_all_succeed(root):
    texts = [f"line {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda text: execute(root, "note", text=text), texts))
    assert [result.message for result in results if not result.success] == []
    assert sorted((root / "log.txt").read_text().splitlines()) == sorted(texts)


def test_calls_that_create_the_same_folder_all_succeed(root):
    names = [f"file {number}" for number in range(16)]
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda name: execute(root, "make", name=name), names))
    assert [result.message for result in results if not result.success] == []
    assert sorted(path.name for path in (root / "new").iterdir()) == sorted(names)


def test_async_callers_of_many_executors_all_succeed(root):
    async def one(number):
        with ToolExecutor([note], resources={Filesystem: HostFilesystem(root, durable=False)}) as executor:
            return await executor.aexecute(ToolCall(name="note", arguments={"text": str(number)}))

    async def main():
        return await asyncio.gather(*map(one, range(12)))

    assert [result.success for result in asyncio.run(main())] == [True] * 12
    assert sorted((root / "log.txt").read_text().split(), key=int) == [str(number) for number in range(12)]


PROCESS = """
    import sys
    from toolhaft.core.limits import Deadline
    from toolhaft.resources.host import HostFilesystem
    fs = HostFilesystem(sys.argv[1], durable=False)
    for turn in range(10):
        fork = fs.fork()
        fork.wait_until(Deadline.after(60))
        fork.write("log.txt", f"{sys.argv[2]}.{turn} ", mode="append")
        fork.commit()
"""


def test_processes_wait_for_each_other(root, pytestconfig):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PROCESS), str(root), str(number)],
            cwd=pytestconfig.rootpath,
        )
        for number in range(3)
    ]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    written = (root / "log.txt").read_text().split()
    assert sorted(written) == sorted(f"{number}.{turn}" for number in range(3) for turn in range(10))


def in_thread(work):
    outcome = []

    def run():
        try:
            outcome.append(work())
        except Exception as error:  # noqa: BLE001 -- looked at by the test
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def test_two_calls_that_wait_for_each_other_end_within_their_time_limit(root):
    """At least one of them fails, with a message that names the file; the other goes on then."""
    both = threading.Barrier(2)

    @tool(effect="reversible", timeout_s=3)
    def cross(first: str, second: str, context: ToolContext) -> int:
        """Change two files."""
        context.filesystem.write(first, first)
        both.wait(20)
        return context.filesystem.write(second, first)

    def run(first, second):
        files = HostFilesystem(root, durable=False)
        with ToolExecutor([cross], resources={Filesystem: files}) as executor:
            return executor.execute(ToolCall(name="cross", arguments={"first": first, "second": second}))

    ends = [in_thread(lambda: run("a", "b")), in_thread(lambda: run("b", "a"))]
    for thread, _ in ends:
        thread.join(30)
    results = [outcome[0] for _, outcome in ends]
    failed = [result for result in results if not result.success]
    assert failed
    for result in failed:
        assert "is being changed by another call; waited" in result.message
        assert result.failure.outcome == "rolled_back"
    contents = {path.name: path.read_text() for path in root.iterdir() if path.name != "log.txt"}
    assert contents in ({}, {"a": "a", "b": "a"}, {"a": "b", "b": "b"})


def test_who_waits_longest_is_next(root):
    fs = HostFilesystem(root, durable=False)
    holder = fs.fork()
    holder.write("log.txt", "")
    order = []

    def wait_in_line(number):
        fork = HostFilesystem(root, durable=False).fork()
        fork.wait_until(Deadline.after(60))
        fork.write("log.txt", "x", mode="append")
        order.append(number)
        fork.commit()

    waiting = []
    for number in range(5):
        waiting.append(in_thread(lambda number=number: wait_in_line(number)))
        while count_waiting(root) <= number:
            threading.Event().wait(0.001)
    holder.commit()
    for thread, _ in waiting:
        thread.join(30)
    assert order == list(range(5))


def count_waiting(root):
    return sum(b'["wait"' in log.read_bytes() for log in (root / ".toolhaft").glob("*.log"))


def test_a_call_that_ends_while_it_waits_leaves_the_queue(root):
    fs = HostFilesystem(root, durable=False)
    holder, waiter = fs.fork(), fs.fork()
    holder.write("log.txt", "1")
    waiter.wait_until(Deadline.after(60))
    thread, outcome = in_thread(lambda: waiter.write("log.txt", "2"))
    while not count_waiting(root):
        threading.Event().wait(0.001)
    waiter.discard()
    thread.join(30)
    assert isinstance(outcome[0], CallEndedError)
    holder.commit()
    fs.write("log.txt", "3")
    assert (root / "log.txt").read_text() == "3"


def test_a_call_that_needs_the_path_no_longer_leaves_the_queue(root):
    """The folder that it wants to create is there again, or the file that it wants to remove is gone."""
    (root / "dir").mkdir()
    fs = HostFilesystem(root, durable=False)
    for begin, ask, end in (
        (lambda fork: fork.delete("dir"), lambda fork: fork.mkdir("dir"), lambda fork: fork.discard()),
        (
            lambda fork: fork.write("log.txt", "x"),
            lambda fork: fork.delete("log.txt"),
            lambda fork: [fork.delete("log.txt"), fork.commit()],
        ),
    ):
        holder, waiter = fs.fork(), HostFilesystem(root, durable=False).fork()
        begin(holder)
        waiter.wait_until(Deadline.after(60))
        thread, outcome = in_thread(lambda ask=ask, waiter=waiter: ask(waiter))
        while not count_waiting_now(root):
            threading.Event().wait(0.001)
        end(holder)
        thread.join(30)
        assert outcome[0] is None or "File not found" in str(outcome[0])
        assert count_waiting_now(root) == 0
        waiter.discard()


def count_waiting_now(root):
    directory = root / ".toolhaft"
    logs = directory.glob("*.log") if directory.exists() else ()
    return sum(bool(read_log(log.read_bytes(), None).waiting) for log in logs)


async def until_waiting(root):
    while not count_waiting_now(root):  # noqa: ASYNC110 -- a file says so
        await asyncio.sleep(0.001)


def test_who_gives_up_does_not_block_others(root, monkeypatch):
    monkeypatch.setattr(host_fork, "_NO_CALL_S", 0.01)
    fs = HostFilesystem(root, durable=False)
    holder, waiter = fs.fork(), HostFilesystem(root, durable=False).fork()
    holder.write("log.txt", "1")
    thread, outcome = in_thread(lambda: waiter.write("log.txt", "2"))
    thread.join(30)
    assert isinstance(outcome[0], FileBusyError)
    holder.commit()
    fs.write("log.txt", "3")
    waiter.write("log.txt", "4")
    waiter.commit()
    assert (root / "log.txt").read_text() == "4"


def test_outside_a_call_an_event_loop_is_not_blocked(root):
    async def main():
        fs = HostFilesystem(root, durable=False)
        holder, other = fs.fork(), HostFilesystem(root, durable=False).fork()
        await asyncio.to_thread(holder.write, "log.txt", "1")
        with pytest.raises(FileBusyError, match="by another call; try again"):
            other.write("log.txt", "2")
        holder.discard()
        other.discard()

    asyncio.run(main())


def test_on_an_event_loop_changes_are_delayed_until_the_path_is_free(root):
    """In their order, and nothing is read meanwhile that they will change."""
    (root / "dir").mkdir()
    (root / "other.txt").write_text("other")

    async def main():
        fs = HostFilesystem(root, durable=False)
        holder, fork = fs.fork(), HostFilesystem(root, durable=False).fork()
        await asyncio.to_thread(holder.write, "dir/log.txt", "held ")
        fork.wait_until(Deadline.after(60))
        nested = fork.fork()
        fork.write("dir/log.txt", "1", mode="append")
        nested.write("dir/log.txt", "2", mode="append")
        fork.mkdir("new")
        fork.write("gone.txt", "")
        fork.delete("other.txt")
        assert fork.catch_up() > 0
        readers = (
            lambda: fork.read("dir/log.txt"),
            lambda: nested.read("dir/log.txt"),
            lambda: fork.list("dir"),
            lambda: fork.stat("other.txt"),
            nested.commit,
            fork.commit,
        )
        for read in readers:
            with pytest.raises(FileBusyError):
                read()
        assert fs.read("other.txt").content == "other"
        holder.commit()
        assert fork.read("dir/log.txt").content == "held 12"
        assert fork.catch_up() == 0
        nested.discard()
        fork.commit()

    asyncio.run(main())
    assert (root / "dir" / "log.txt").read_text() == "held 1"
    assert sorted(path.name for path in root.iterdir()) == ["dir", "gone.txt", "log.txt", "new"]


def test_delayed_changes_end_with_their_fork(root):
    async def main():
        holder, fork = (HostFilesystem(root, durable=False).fork() for _ in range(2))
        holder.write("log.txt", "held")
        fork.wait_until(Deadline.after(60))
        nested = fork.fork()
        fork.write("log.txt", "1")
        nested.write("log.txt", "2")
        fork.discard()
        with pytest.raises(CallEndedError):
            nested.write("log.txt", "3")
        holder.commit()
        assert fork.catch_up() == 0

    asyncio.run(main())
    assert (root / "log.txt").read_text() == "held"


def test_a_delayed_change_blocks_nobody_between_two_tries(root, monkeypatch):
    """Neither after the fork has read another path, nor after a nested one that wrote it has ended."""
    monkeypatch.setattr(host_fork, "_NO_CALL_S", 0.01)

    def read(fork):
        fork.write("log.txt", "1")
        fork.exists("other.txt")

    def discard_nested(fork):
        nested = fork.fork()
        nested.write("log.txt", "1")
        assert nested.catch_up() > 0
        nested.discard()

    def commit_nested(fork):
        fork.write("log.txt", "1")
        fork.fork().catch_up()

    async def main(wait):
        holder, fork, third = (HostFilesystem(root, durable=False).fork() for _ in range(3))
        holder.write("log.txt", "held")
        fork.wait_until(Deadline.after(60))
        wait(fork)
        holder.commit()
        await asyncio.to_thread(third.write, "log.txt", "third")
        third.commit()
        fork.discard()

    for wait in (read, discard_nested, commit_nested):
        asyncio.run(main(wait))
        assert (root / "log.txt").read_text() == "third", wait


def test_a_nested_call_does_not_wait_for_the_delayed_changes_of_its_parent(root):
    """Only before its own, within its own time limit."""

    async def main():
        holder, fork = (HostFilesystem(root, durable=False).fork() for _ in range(2))
        holder.write("log.txt", "held ")
        fork.wait_until(Deadline.after(60))
        fork.write("log.txt", "1", mode="append")
        reader, writer = fork.fork(), fork.fork()
        assert reader.catch_up() == 0
        reader.commit()
        writer.wait_until(Deadline.after(0.01))
        writer.write("new.txt", "2")
        await asyncio.sleep(0.02)
        with pytest.raises(FileBusyError, match="busy: log"):
            writer.catch_up()
        writer.discard()
        holder.commit()
        assert fork.catch_up() == 0
        fork.commit()

    asyncio.run(main())
    assert (root / "log.txt").read_text() == "held 1"
    assert not (root / "new.txt").exists()


def append(effect, isolation, rest_s):
    async def on_loop(text: str, context: ToolContext) -> int:
        written = context.filesystem.write("log.txt", text, mode="append")
        await asyncio.sleep(rest_s)
        return written

    async def in_parts(text: str, context: ToolContext):
        yield context.filesystem.write("log.txt", text, mode="append")
        await asyncio.sleep(rest_s)

    def inline(text: str, context: ToolContext) -> int:
        return context.filesystem.write("log.txt", text, mode="append")

    handler = {"async": on_loop, "stream": in_parts, "inline": inline}[isolation]
    options = {"isolation": "inline"} if isolation == "inline" else {}
    return tool(name="append", description="Append.", effect=effect, timeout_s=60, **options)(handler)


@pytest.mark.parametrize("effect", ["irreversible", "reversible", "idempotent"])
@pytest.mark.parametrize("kind", ["async", "stream", "inline"])
def test_handlers_on_event_loops_wait_for_each_other_and_run_once(root, effect, kind):
    """Also those that may not be repeated: the default effect."""
    each = append(effect, kind, 0.001)

    async def one(number):
        with ToolExecutor([each], resources={Filesystem: HostFilesystem(root, durable=False)}) as executor:
            return await executor.aexecute(ToolCall(name="append", arguments={"text": f"{number} "}))

    async def several(numbers):
        return await asyncio.gather(*map(one, numbers))

    with ThreadPoolExecutor(3) as threads:
        loops = threads.map(lambda first: asyncio.run(several(range(first, first + 5))), (0, 5, 10))
        results = [result for loop in loops for result in loop]
    assert [result.message for result in results if not result.success] == []
    assert sorted((root / "log.txt").read_text().split(), key=int) == [str(number) for number in range(15)]


def test_a_parent_that_calls_an_irreversible_tool_is_not_run_again_for_a_busy_file(root):
    sent = []

    @tool
    def send(text: str) -> str:
        """Send."""
        sent.append(text)
        return text

    @tool(effect="reversible", timeout_s=60)
    async def send_and_log(text: str, context: ToolContext) -> int:
        """Send and log."""
        await executor.aexecute(ToolCall(name="send", arguments={"text": text}))
        return context.filesystem.write("log.txt", text)

    holder = HostFilesystem(root, durable=False).fork()
    holder.write("log.txt", "held")
    executor = ToolExecutor([send, send_and_log], resources={Filesystem: HostFilesystem(root, durable=False)})

    async def main():
        call = ToolCall(name="send_and_log", arguments={"text": "x"})
        running = asyncio.ensure_future(executor.aexecute(call))
        await until_waiting(root)
        holder.commit()
        return await running

    assert asyncio.run(main()).success
    assert (sent, (root / "log.txt").read_text()) == (["x"], "x")


def test_a_delayed_change_that_cannot_be_made_fails_its_call(root):
    """The path is not free in time, or somebody has created the file meanwhile."""

    @tool(effect="reversible", timeout_s=0.3)
    async def late(path: str, context: ToolContext) -> int:
        """Write late."""
        return context.filesystem.write(path, "late")

    @tool(timeout_s=60)
    async def create(path: str, context: ToolContext) -> int:
        """Create a file."""
        return context.filesystem.write(path, "mine", mode="create")

    holder = HostFilesystem(root, durable=False).fork()
    holder.write("log.txt", "held")
    holder.write("new/b.txt", "held")
    holder.delete("new/b.txt")

    async def run(each, path, then):
        executor = ToolExecutor([each], resources={Filesystem: HostFilesystem(root, durable=False)})
        running = asyncio.ensure_future(executor.aexecute(ToolCall(name=each.name, arguments={"path": path})))
        await until_waiting(root)
        then()
        return await running

    result = asyncio.run(run(late, "log.txt", lambda: None))
    assert "could not be kept: File busy: log.txt is being changed by another call; waited" in result.message
    assert result.failure.outcome == "rolled_back"

    def finish():
        holder.write("new/b.txt", "theirs")
        holder.commit()

    result = asyncio.run(run(create, "new/b.txt", finish))
    assert "could not be kept: File exists: new/b.txt" in result.message
    assert result.failure.outcome == "unknown"
    assert (root / "new" / "b.txt").read_text() == "theirs"


def test_a_cancelled_call_drops_its_delayed_changes(root):
    holder = HostFilesystem(root, durable=False).fork()
    holder.write("log.txt", "held")
    each = append("irreversible", "async", 0)

    async def main():
        executor = ToolExecutor([each], resources={Filesystem: HostFilesystem(root, durable=False)})
        running = asyncio.ensure_future(executor.aexecute(ToolCall(name="append", arguments={"text": "x"})))
        await until_waiting(root)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    holder.commit()
    assert (root / "log.txt").read_text() == "held"
    assert not (root / ".toolhaft").exists()
