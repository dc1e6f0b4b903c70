"""A process whose children call write_file and die in the middle of it, and which checks the files that they leave.

Run by `test_writing.py` as a program of its own: it forks, which a test process with threads must not. Prints how many
deaths it saw, or fails with a traceback.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.resources.crash_driver import die_in_child, fill, tree_at, whole
from tests.resources.faults import Faults
from toolhaft import ToolCall, ToolExecutor
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.toolbox import write_file

OLD = "old content\n" * 1000
NEW = "new content, and more of it\n" * 2000
START = whole({"notes.txt": OLD.encode(), "kept/other.txt": b"kept"})
AFTER = whole({**START, "notes.txt": NEW.encode()})
AFTER_DEEP = whole({**START, "deep/er/new.txt": NEW.encode()})


def executor_on(root, **options):
    return ToolExecutor([write_file], resources={Filesystem: HostFilesystem(root, **options)})


def write(root, path, **options):
    result = executor_on(root, **options).execute(
        ToolCall(name="write_file", arguments={"path": path, "content": NEW})
    )
    assert result.value == {"bytesWritten": len(NEW)}, result.message


def at_every_call(root):
    """Die before each call to the system in turn: either the old files are there or the new ones."""
    deaths = 0
    for path, after in (("notes.txt", AFTER), ("deep/er/new.txt", AFTER_DEEP)):
        seen = []
        for number in range(1_000):
            shutil.rmtree(root, ignore_errors=True)
            fill(root, START)
            died = die_in_child(lambda: write(root, path, system=Faults(die_at=number)))  # noqa: B023 -- run at once
            HostFilesystem.recover(root)
            tree = tree_at(root)
            assert tree in (START, after), (number, sorted(tree))
            seen.append(tree == after)
            if not died:
                break
            deaths += 1
        assert seen == sorted(seen), "once it is done it stays done"
        assert seen[-1]
    return deaths


def killed(root, kills):
    """Kill -9 a child that writes one file over and over: it is whole, and what was told to be done is done."""
    chance = random.Random(kills)  # noqa: S311 -- repeatable, not secret
    shutil.rmtree(root, ignore_errors=True)
    fill(root, {"notes.txt": b"0" * 50_000})
    last = 0
    for _ in range(kills):
        told, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                write_on(root, last, pipe)
            finally:
                os._exit(1)
        os.close(pipe)
        os.read(told, 1)
        time.sleep(chance.random() * 0.01)
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        done = 1
        while said := os.read(told, 4096):
            done += len(said)
        os.close(told)
        HostFilesystem.recover(root)
        assert [path.name for path in root.iterdir()] == ["notes.txt"]
        content = (root / "notes.txt").read_text()
        assert content in [str((last + more) % 10) * 50_000 for more in (done, done + 1)]
        last = int(content[0])
    return kills


def write_on(root, last, pipe):
    """Calls without end, each told when it is done."""
    executor = executor_on(Path(root), durable=False)
    for number in range(last + 1, last + 1_000_000):
        arguments = {"path": "notes.txt", "content": str(number % 10) * 50_000}
        assert executor.execute(ToolCall(name="write_file", arguments=arguments)).success
        os.write(pipe, b".")


def main(task, folder, *numbers):
    tasks = {"points": at_every_call, "killed": killed}
    print(json.dumps(tasks[task](Path(folder) / "root", *map(int, numbers))))  # noqa: T201 -- what the test reads


if __name__ == "__main__":
    main(*sys.argv[1:])
