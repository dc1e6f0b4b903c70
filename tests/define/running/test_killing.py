"""Every process that a program started is killed: on a timeout, a cancellation, too much output, and at its end."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.define.running.kit import call, parameter, tool_of
from toolhaft import ToolCall, ToolExecutor
from toolhaft.backends import process_tree
from toolhaft.core.limits import Deadline

pytestmark = pytest.mark.external

# Each writes the number of the process that must die into the file $1, by way of $1.tmp.
CHILDREN = {
    "a child": "sleep 60 & echo $! > $1.tmp",
    "a child in a session of its own": "setsid sleep 60 & echo $! > $1.tmp",
    "a child without its parent": """
(setsid sh -c 'echo $$ > '$1'.tmp; exec sleep 60' > /dev/null 2>&1 &)
until test -s $1.tmp; do sleep 0.01; done
""",
    "a child that ignores signals": "trap '' TERM INT HUP; setsid sleep 60 & echo $! > $1.tmp",
}
WAIT = "sleep 60"
FLOOD = "yes"


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def until(claim, seconds=5.0):
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.005)


def starter(child, ending, **fields):
    script = f"trap '' TERM\n{CHILDREN[child]}\nmv $1.tmp $1\n{ending}"
    return tool_of({"argv": ["sh", "-c", script, "sh", "${file}"]}, [parameter("file")], **fields)


def pid_in(file):
    until(file.exists)
    return int(file.read_text(encoding="utf-8"))


def test_a_timeout_kills_the_whole_tree(tmp_path):
    files = {child: tmp_path / f"pid{number}" for number, child in enumerate(CHILDREN)}

    async def run(child):
        executor = ToolExecutor([starter(child, WAIT, timeout_s=1.0, retryable=False)])
        return await executor.aexecute(ToolCall(name="sample", arguments={"file": str(files[child])}))

    async def run_all():
        return await asyncio.gather(*map(run, CHILDREN))

    for child, result in zip(CHILDREN, asyncio.run(run_all()), strict=True):
        assert result.failure.kind == "timeout", child
        assert "killed" in result.message or "cancelled" in result.message, child
        assert not is_alive(pid_in(files[child])), child


@pytest.mark.parametrize("child", CHILDREN)
def test_too_much_output_kills_the_whole_tree(child, tmp_path):
    file = tmp_path / "pid"
    result = call(starter(child, FLOOD), {"file": str(file)})
    assert "more than 1,000,000 bytes" in result.message
    assert not is_alive(pid_in(file))


@pytest.mark.parametrize("child", CHILDREN)
def test_the_end_of_a_program_kills_its_children(child, tmp_path):
    file = tmp_path / "pid"
    result = call(starter(child, "echo done"), {"file": str(file)})
    assert result.value == "done"  # although the child holds the output open
    assert not is_alive(pid_in(file))


@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("isolation", [None, "thread"])
def test_a_cancelled_call_kills_the_whole_tree(child, isolation, tmp_path):
    file = tmp_path / "pid"
    extra = {"isolation": isolation} if isolation else {}
    made = starter(child, WAIT, timeout_s=30.0, **extra)

    async def drive():
        executor = ToolExecutor([made])
        task = asyncio.create_task(executor.aexecute(ToolCall(name="sample", arguments={"file": str(file)})))
        await asyncio.to_thread(until, file.exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(drive())
    if isolation is None:
        assert not is_alive(pid_in(file))  # at once
    else:
        until(lambda: not is_alive(pid_in(file)))  # a thread learns of it at its next beat


def test_an_outer_deadline_kills_too(tmp_path):
    file = tmp_path / "pid"
    made = starter("a child", WAIT, retryable=False)
    asked = ToolCall(name="sample", arguments={"file": str(file)})
    result = ToolExecutor([made]).execute(asked, deadline=Deadline.after(1.0))
    assert not result.success
    assert not is_alive(pid_in(file))


def test_process_isolation_kills_the_program_too(tmp_path):
    file = tmp_path / "pid"
    child = "a child without its parent"
    made = starter(child, WAIT, timeout_s=2.0, isolation="process", retryable=False)
    result = call(made, {"file": str(file)})
    assert result.failure.kind == "timeout"
    until(lambda: not is_alive(pid_in(file)))


def own_children():
    found = []
    for thread in Path("/proc/self/task").iterdir():
        found += (thread / "children").read_text(encoding="ascii").split()
    return set(found)


def test_no_files_processes_or_threads_are_left_behind(tmp_path):
    made = tool_of({"argv": ["sh", "-c", "sleep 60 & echo $$"]})
    call(made)
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir())), own_children(), threading.active_count()
    for _ in range(10):
        assert call(made).success
    slow = tool_of({"argv": ["sleep", "60"]}, timeout_s=0.1, retryable=False)
    for _ in range(3):
        assert not call(slow).success
    assert not call(tool_of({"argv": ["no-such-program-here"]})).success
    until(lambda: not any(thread.name == "toolhaft-program" for thread in threading.enumerate()))
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before[0]
    assert own_children() <= before[1]
    assert threading.active_count() <= before[2] + 1


def test_without_proc_the_group_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process_tree, "_processes", lambda: iter(()))
    file = tmp_path / "pid"
    made = starter("a child", WAIT, timeout_s=1.0, retryable=False)
    assert call(made, {"file": str(file)}).failure.kind == "timeout"
    until(lambda: not is_alive(pid_in(file)))


def test_without_pidfd_the_end_is_noticed_by_polling(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")
    assert call(tool_of({"argv": ["echo", "hi"]})).value == "hi"
    slow = tool_of({"argv": ["sleep", "60"]}, timeout_s=0.2, retryable=False)
    assert call(slow).failure.kind == "timeout"


SCRIPT = """
import sys
from tests.define.running.test_killing import WAIT, call, starter
print(call(starter("a child without its parent", WAIT, timeout_s=50.0), {"file": sys.argv[1]}))
"""


def test_a_program_does_not_outlive_a_host_that_is_interrupted(tmp_path):
    file = tmp_path / "pid"
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(file)], cwd=root, stderr=subprocess.DEVNULL
    ) as host:
        until(file.exists, 20.0)
        host.send_signal(signal.SIGINT)
        assert host.wait(10) != 0
    until(lambda: not is_alive(pid_in(file)))


def test_concurrent_programs_do_not_affect_each_other(tmp_path):
    made = tool_of({"argv": ["sh", "-c", "sleep 60 & echo $0", "${file}"]}, [parameter("file")])

    async def drive():
        executor = ToolExecutor([made])
        asked = [ToolCall(name="sample", arguments={"file": f"n{number}"}) for number in range(20)]
        return await asyncio.gather(*(executor.aexecute(one) for one in asked))

    assert [result.value for result in asyncio.run(drive())] == [f"n{number}" for number in range(20)]


CHAIN = """
import os, sys, time
end = time.monotonic() + 1.0
if os.fork() == 0:
    os.setsid()
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
    open(sys.argv[1], "w").close()
    os._exit(0)
time.sleep(60)
"""


def test_a_chain_of_processes_that_start_each_other_and_end_is_killed(tmp_path):
    file = tmp_path / "survived"
    argv = [sys.executable, "-S", "-E", "-c", CHAIN, "${file}"]
    began = time.monotonic()
    result = call(tool_of({"argv": argv}, [parameter("file")], timeout_s=0.5), {"file": str(file)})
    assert result.failure.kind == "timeout"
    left = began + 1.5 - time.monotonic()
    time.sleep(max(left, 0))  # until the last of them would have written
    assert not file.exists()


def test_a_forked_child_does_not_kill_its_parents_programs(tmp_path):
    script = f"""
import os, sys, threading
from tests.define.running.kit import call, tool_of
made = tool_of({{"argv": ["sh", "-c", "touch {tmp_path}/begun; until test -e {tmp_path}/go; do sleep 0.01; done; echo hi"]}})
results = []
thread = threading.Thread(target=lambda: results.append(call(made)))
thread.start()
while not os.path.exists("{tmp_path}/begun"):
    pass
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
open("{tmp_path}/go", "w").close()
thread.join()
print(results[0].value)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout, done.returncode) == ("hi\n", 0), done.stderr


def test_an_exit_code_taken_by_another_waiter_is_a_failure(monkeypatch):
    monkeypatch.setattr(os, "waitid", lambda *_: (_ for _ in ()).throw(ChildProcessError()))
    result = call(tool_of({"argv": ["sh", "-c", "exit 3"]}))
    assert "sh has ended, but its exit code was taken by another part of this process" in result.message


def test_programs_run_without_the_load_file(monkeypatch, tmp_path):
    monkeypatch.setattr(process_tree, "LOAD_FILE", str(tmp_path / "nothing"))
    assert call(tool_of({"argv": ["echo", "hi"]})).value == "hi"
    (tmp_path / "odd").write_text("odd", encoding="utf-8")
    monkeypatch.setattr(process_tree, "LOAD_FILE", str(tmp_path / "odd"))
    assert call(tool_of({"argv": ["echo", "hi"]})).value == "hi"
