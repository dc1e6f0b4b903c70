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
from toolhaft.resources import Filesystem, HostFilesystem, claim_wait
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


def test_who_gives_up_does_not_block_others(root, monkeypatch):
    monkeypatch.setattr(claim_wait, "_NO_CALL_S", 0.01)
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


def test_an_event_loop_is_not_blocked(root):
    async def main():
        fs = HostFilesystem(root, durable=False)
        holder, other = fs.fork(), HostFilesystem(root, durable=False).fork()
        await asyncio.to_thread(holder.write, "log.txt", "1")
        other.wait_until(Deadline.after(60))
        with pytest.raises(FileBusyError, match="by another call; try again"):
            other.write("log.txt", "2")
        holder.discard()
        other.discard()

    asyncio.run(main())


@tool(effect="reversible")
async def append_slowly(text: str, context: ToolContext) -> int:
    """Append to the log, and go on working."""
    context.filesystem.write("log.txt", text, mode="append")
    await asyncio.sleep(0.001)
    return len(text)


def test_async_handlers_wait_for_each_other_without_blocking_their_loop(root):
    async def one():
        files = HostFilesystem(root, durable=False)
        executor = ToolExecutor([append_slowly], resources={Filesystem: files})
        return await executor.aexecute(ToolCall(name="append_slowly", arguments={"text": "x"}))

    async def main():
        return await asyncio.gather(*(one() for _ in range(10)))

    (root / "log.txt").write_text("")
    results = asyncio.run(main())
    assert [(result.success, result.message, result.value) for result in results] == [(True, "", 1)] * 10
    assert (root / "log.txt").read_text() == "x" * 10


@tool(effect="reversible", timeout_s=0.3)
async def append_briefly(text: str, context: ToolContext) -> int:
    """Append to the log."""
    return context.filesystem.write("log.txt", text, mode="append")


@tool(timeout_s=60)
async def append_once(text: str, context: ToolContext) -> int:
    """Append to the log; nobody knows whether that may be repeated."""
    return context.filesystem.write("log.txt", text, mode="append")


def test_an_async_handler_gives_up_within_its_time_limit_and_at_once_if_it_may_not_be_repeated(root):
    holder = HostFilesystem(root, durable=False).fork()
    holder.write("log.txt", "held")
    for each in (append_briefly, append_once):
        executor = ToolExecutor([each], resources={Filesystem: HostFilesystem(root, durable=False)})
        result = asyncio.run(executor.aexecute(ToolCall(name=each.name, arguments={"text": "x"})))
        assert not result.success
        assert result.message.startswith("File busy: log.txt is being changed by another call")
    holder.discard()
