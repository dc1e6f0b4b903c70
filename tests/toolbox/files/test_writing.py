"""write_file: writes a text completely or not at all, and is undone if the call fails."""

import errno
import json
import os
import subprocess
import sys

import pytest

from tests.cases import each_case
from tests.resources.faults import Faults
from tests.toolbox.files.calls import call, memory, refusal, value_of
from toolhaft import ToolCall, ToolContext, ToolExecutor, tool
from toolhaft.errors import ToolExecutionError
from toolhaft.resources import Filesystem, HostFilesystem, MemoryFilesystem
from toolhaft.toolbox import read_file, write_file

LONG = bool(os.environ.get("TOOLHAFT_LONG"))


def test_bytes_are_counted_not_characters_and_the_message_says_what_happened():
    fs = memory()
    first = call(write_file, fs, path="new/deep/a.txt", content="grün €\n")
    assert (first.value, first.message) == ({"bytesWritten": 10}, "Created new/deep/a.txt: 10 bytes, UTF-8.")
    assert not first.untrusted
    again = call(write_file, fs, path="new/deep/a.txt", content="")
    assert (again.value, again.message) == ({"bytesWritten": 0}, "Overwrote new/deep/a.txt: 0 bytes, UTF-8.")
    assert fs.read("new/deep/a.txt").content == ""


@pytest.mark.parametrize("content", ["\r\n\n\r", "\x00\x01\x1b", "\ufeffx", "a\u2028b", "😀" * 1000])
def test_text_is_written_as_it_is(content):
    fs = memory()
    value_of(write_file, fs, path="x", content=content)
    assert fs.read_bytes("x") == content.encode()


@pytest.mark.parametrize(
    "arguments", [{"path": "x", "content": "a\ud800"}, '{"path":"x","content":"a\\ud800"}'], ids=type
)
def test_half_a_surrogate_pair_is_refused_clearly(arguments):
    fs = memory()
    executor = ToolExecutor([write_file], resources={Filesystem: fs})
    result = executor.execute(ToolCall(name="write_file", arguments=arguments))
    assert result.failure.kind == "invalid_arguments"
    assert "half of a surrogate pair alone, such as \\ud83d, is not a character" in result.message
    assert fs.list() == []
    with pytest.raises(ToolExecutionError, match="character 1 of the text is half a surrogate pair"):
        write_file.handler({"path": "x", "content": "a\ud800"}, ToolContext(resources=_Only(fs)))


class _Only:
    def __init__(self, fs):
        self.fs = fs

    def get(self, kind):
        return self.fs


@each_case(
    ("path", "words"),
    [
        ("folder", "Is a directory: folder"),
        (".", "Permission denied: ."),
        ("../out.txt", "Permission denied: ../out.txt"),
        ("folder/in.txt/below", "Not a directory: folder/in.txt/below, or one of its parents is a file"),
        (".toolhaft/x", "Permission denied: .toolhaft/x"),
        ("fresh/", "Is a directory: fresh/; give the path of a file"),
        ("fresh/.", "Is a directory: fresh/.; give the path of a file"),
        ("", "Invalid path: '': it is empty; the root is '.'"),
    ],
)
def test_failed_write_changes_nothing(path, words):
    fs = MemoryFilesystem({"folder/in.txt": "1"})
    result = call(write_file, fs, path=path, content="2")
    assert str(result.failure.error) == words
    assert result.failure.outcome == "rolled_back"
    assert [(entry.path, entry.size_bytes) for entry in fs.list(recursive=True)] == [
        ("folder", 0),
        ("folder/in.txt", 1),
    ]


def test_write_in_a_read_only_call_is_refused():
    words = refusal(write_file, MemoryFilesystem({"a": "1"}, read_only=True), path="a", content="2")
    assert words == "Read-only: a cannot be changed, only reading is allowed here"


def test_a_filesystem_that_may_only_be_read_refuses():
    class Readable:
        filesystem = memory(a="1").fork(read_only=True)

    with pytest.raises(ToolExecutionError, match="read"):
        write_file.handler({"path": "a", "content": "2"}, Readable())
    assert Readable.filesystem.read("a").content == "1"


def test_a_failed_write_is_not_tried_again_with_the_same_arguments():
    executor = ToolExecutor([write_file], resources={Filesystem: MemoryFilesystem({"folder/x": ""})})
    asked = ToolCall(name="write_file", arguments={"path": "folder", "content": "1"})
    assert executor.execute(asked).failure.kind == "failed"
    assert executor.execute(asked).failure.kind == "attempts"


def test_write_of_a_failed_call_is_undone(quick_path):
    """Rolled back with the call that it is within, and with a value that does not fit."""
    root = quick_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("old")

    @tool(effect="reversible")
    def clumsy(context: ToolContext) -> int:
        """Write by the tool, then fail."""
        inner = ToolExecutor([write_file], resources={Filesystem: context.filesystem})
        assert inner.execute(
            ToolCall(name="write_file", arguments={"path": "a.txt", "content": "new"})
        ).success
        assert inner.execute(
            ToolCall(name="write_file", arguments={"path": "b/c.txt", "content": "new"})
        ).success
        assert context.filesystem.read("a.txt").content == "new"
        raise RuntimeError("late")

    for fs in (HostFilesystem(root, durable=False), MemoryFilesystem({"a.txt": "old"})):
        executor = ToolExecutor([clumsy, read_file], resources={Filesystem: fs})
        result = executor.execute(ToolCall(name="clumsy"))
        assert result.failure.outcome == "rolled_back"
        assert [entry.path for entry in fs.list(recursive=True)] == ["a.txt"]
        assert fs.read("a.txt").content == "old"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_fails_at_any_step_leaves_the_old_file(quick_path, number):
    root = quick_path / "root"
    root.mkdir()
    failures = 0
    for step in range(100):
        (root / "a.txt").write_text("old")
        system = Faults(fail_at=step, number=number)
        fs = HostFilesystem(root, system=system, durable=False)
        result = call(write_file, fs, path="a.txt", content="new")
        system.heal()
        fs.close()
        HostFilesystem.recover(root)
        assert (root / "a.txt").read_text() == ("new" if result.success else "old")
        assert [path.name for path in root.iterdir()] == ["a.txt"]
        failures += not result.success
        if not result.success:
            assert str(root) not in result.message
        if system.count <= step:
            break
    assert failures > 2


def test_calls_on_one_file_beside_each_other_leave_one_of_the_texts(quick_path):
    root = quick_path / "root"
    root.mkdir()
    texts = [str(number) * 30_000 for number in range(8)]
    executor = ToolExecutor([write_file], resources={Filesystem: HostFilesystem(root, durable=False)})
    calls = [ToolCall(name="write_file", arguments={"path": "a", "content": text}) for text in texts]
    results = executor.execute_all(calls)
    assert all(result.success for result in results)
    assert (root / "a").read_text() in texts


@pytest.mark.external
@pytest.mark.parametrize(("task", "numbers"), [("points", ()), ("killed", (200 if LONG else 12,))])
def test_a_process_killed_in_the_middle_of_a_write_leaves_the_old_file_or_the_new_one(
    quick_path, pytestconfig, task, numbers
):
    done = subprocess.run(
        [sys.executable, "-m", "tests.toolbox.files.crash_driver", task, str(quick_path), *map(str, numbers)],
        cwd=pytestconfig.rootpath,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) >= 12


def test_tool_has_the_documented_metadata():
    assert (write_file.effect, write_file.retryable, write_file.timeout_s) == ("reversible", False, 5)
