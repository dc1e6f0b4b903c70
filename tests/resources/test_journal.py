"""Several open forks of the host's files, and how they end.

Keeps the issue's "Afterwards the fork is revoked, under its write lock, so that nothing lands after the rollback".
"""

import errno
import os
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from tests.resources.crash_driver import tree_at
from tests.resources.faults import Faults
from toolhaft.errors import CallEndedError, FileBusyError
from toolhaft.resources import HostFilesystem, host_fork
from toolhaft.resources.system import System

pytestmark = pytest.mark.external


@pytest.fixture
def root(quick_path):
    for path in ("a.txt", "dir/b.txt", "dir/c.txt"):
        (quick_path / path).parent.mkdir(exist_ok=True)
        (quick_path / path).write_text(path)
    return quick_path


@pytest.fixture
def fs(root):
    return HostFilesystem(root, durable=False)


BEFORE = {"a.txt": b"a.txt", "dir": None, "dir/b.txt": b"dir/b.txt", "dir/c.txt": b"dir/c.txt"}


# Two calls at once


def refused(act, path):
    with pytest.raises(FileBusyError) as error:
        act()
    assert str(error.value) == (
        f"File busy: {path} is being changed by another call; try again when that has ended"
    )
    return True


def test_a_path_that_another_open_fork_changed_is_busy_until_it_ends(root, fs):
    one, two, elsewhere = fs.fork(), fs.fork(), HostFilesystem(root, durable=False)
    one.write("a.txt", "one")
    for other in (two, fs, elsewhere, elsewhere.fork()):
        assert refused(lambda: other.write("a.txt", "two"), "a.txt")  # noqa: B023 -- called at once
        assert refused(lambda: other.delete("a.txt"), "a.txt")  # noqa: B023 -- called at once
    other.discard()
    two.write("dir/b.txt", "two")
    assert two.read("a.txt").content == "one", "writes show at once"
    one.discard()
    two.write("a.txt", "two")
    two.commit()
    assert tree_at(root) == {**BEFORE, "a.txt": b"two", "dir/b.txt": b"two"}


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (lambda fs: fs.write("dir/b.txt", "1"), lambda fs: fs.delete("dir", recursive=True), "dir"),
        (lambda fs: fs.delete("dir", recursive=True), lambda fs: fs.write("dir/b.txt", "2"), "dir/b.txt"),
        (lambda fs: fs.delete("dir", recursive=True), lambda fs: fs.mkdir("dir"), "dir"),
        (lambda fs: fs.mkdir("new/deep"), lambda fs: fs.write("new/deep/x", "2"), "new/deep/x"),
        (lambda fs: fs.write("new/x", "1"), lambda fs: fs.write("new/y", "2"), "new/y"),
        (lambda fs: fs.delete("a.txt"), lambda fs: fs.write("a.txt/below", "2"), "a.txt/below"),
    ],
)
def test_claim_of_a_directory_covers_its_content(root, fs, first, second, path):
    one, two = fs.fork(), fs.fork()
    first(one)
    assert refused(lambda: second(two), path)
    one.discard()
    two.discard()
    assert tree_at(root) == BEFORE


def test_sibling_forks_are_isolated_and_block_their_parent(root, fs):
    outer = fs.fork()
    outer.write("a.txt", "outer")
    one, two = outer.fork(), outer.fork()
    one.write("a.txt", "one")
    one.fork().write("a.txt", "within one")
    for other in (two, outer, two.fork()):
        assert refused(lambda: other.write("a.txt", "x"), "a.txt")  # noqa: B023 -- called at once
    one.discard()
    assert outer.read("a.txt").content == "outer"
    two.write("a.txt", "two")
    two.commit()
    outer.write("a.txt", "outer again")
    outer.discard()
    assert tree_at(root) == BEFORE


def test_path_changed_by_another_process_is_busy_and_restored_when_it_dies(
    root, fs, pytestconfig, monkeypatch
):
    """Also for a filesystem that was open all the time: it does not write over what is to be put back."""
    monkeypatch.setattr(host_fork, "_NO_CALL_S", 0.01)
    other = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                """
                import sys
                from toolhaft.resources.host import HostFilesystem
                fork = HostFilesystem(sys.argv[1], durable=False).fork()
                fork.write("a.txt", "other")
                fork.delete("dir", recursive=True)
                print("ready", flush=True)
                sys.stdin.read()
                """
            ),
            str(root),
        ],
        cwd=pytestconfig.rootpath,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert other.stdout.readline() == b"ready\n"
        mine = fs.fork()
        mine.write("mine.txt", "1")
        assert refused(lambda: mine.write("a.txt", "x"), "a.txt")
        assert refused(lambda: mine.write("dir/b.txt", "x"), "dir/b.txt")
        assert HostFilesystem.recover(root) == 0, "a living process is never disturbed"
        assert (root / "a.txt").read_text() == "other"
    finally:
        other.kill()
        other.communicate()
    mine.write("a.txt", "+", mode="append")
    mine.commit()
    assert tree_at(root) == {**BEFORE, "a.txt": b"a.txt+", "mine.txt": b"1"}


def test_a_child_process_does_not_keep_the_journal_of_its_parent_alive(root, pytestconfig):
    """A worker that was forked in the middle of a call outlives the call's process: it has no part in it."""
    script = """
        import os, sys, time
        from toolhaft.errors import CallEndedError
        from toolhaft.resources.host import HostFilesystem
        fs = HostFilesystem(sys.argv[1], durable=False)
        fork = fs.fork()
        fork.write("a.txt", "parent")
        parent = os.getpid()
        if os.fork():
            os._exit(9)
        while os.getppid() == parent:
            time.sleep(0.001)
        try:
            fork.write("a.txt", "child")
        except CallEndedError:
            fork.discard()
            print(HostFilesystem.recover(sys.argv[1]))
            fs.write("child.txt", "1")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(root)],
        cwd=pytestconfig.rootpath,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (9, b"1\n")
    assert tree_at(root) == {**BEFORE, "child.txt": b"1"}


def test_claim_waits_for_the_lock_for_a_limited_time(root, monkeypatch):
    monkeypatch.setattr("toolhaft.resources.journal._MAX_CLAIM_WAIT_S", 0.02)
    fs = HostFilesystem(root, durable=False)
    holder = fs.fork()
    holder.write("dir/b.txt", "1")
    home = holder._fork.journal.files.directory  # noqa: SLF001 -- nobody else may lock it
    System.flock(home, 2)  # as if it were stopped in the middle of a claim
    assert refused(lambda: fs.write("a.txt", "2"), "a.txt")
    System.flock(home, 8)
    fs.write("a.txt", "2")
    holder.discard()
    assert tree_at(root) == {**BEFORE, "a.txt": b"2"}


# The end of a fork


class Gate:
    """Holds the first call of a name until a test lets it go on."""

    def __init__(self, call):
        self.call = call
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, name, _):
        if name == self.call and not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(20)


def outcome_of(work, outcomes):
    def run():
        try:
            outcomes.append(work())
        except Exception as error:  # noqa: BLE001 -- told to the test
            outcomes.append(type(error))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("call", ["link", "rename", "write", "pwrite"])
def test_write_in_progress_when_the_call_ends_is_undone(root, call):
    gate = Gate(call)
    fork = HostFilesystem(root, system=Faults(before=gate), durable=False).fork()
    outcomes, late = [], []
    writer = outcome_of(lambda: fork.write("a.txt", "late"), outcomes)
    assert gate.reached.wait(20)
    ender = outcome_of(fork.discard, [])
    waiter = outcome_of(lambda: fork.write("dir/b.txt", "later"), late)
    gate.go_on.set()
    for thread in (writer, ender, waiter):
        thread.join(20)
    assert outcomes == [4]
    with pytest.raises(CallEndedError, match=r"^a\.txt was not changed: the call that this filesystem"):
        fork.write("a.txt", "too late")
    assert tree_at(root) == BEFORE
    assert late in ([5], [CallEndedError]), "before the end and put back, or after it and refused"


def test_a_write_that_waits_for_the_end_of_the_call_changes_nothing(root):
    """The order is forced: the end has the lock, the write waits for it."""
    gate = Gate("unlink")
    system = Faults()
    fork = HostFilesystem(root, system=system, durable=False).fork()
    fork.write("a.txt", "kept")
    system.before = gate
    ender = outcome_of(fork.commit, [])
    assert gate.reached.wait(20)
    late = []
    waiter = outcome_of(lambda: fork.write("dir/b.txt", "late"), late)
    gate.go_on.set()
    ender.join(20)
    waiter.join(20)
    assert late == [CallEndedError]
    assert tree_at(root) == {**BEFORE, "a.txt": b"kept"}


@pytest.mark.parametrize(("call", "is_kept"), [("fsync", False), ("unlink", True)])
def test_a_commit_that_is_interrupted_is_all_or_nothing(root, call, is_kept):
    """By Ctrl-C, say: before its one step everything is put back, after it everything is kept."""
    system = Faults()
    fork = HostFilesystem(root, system=system).fork()
    fork.write("a.txt", "changed")

    def interrupt(name, _):
        if name == call:
            system.before = None
            raise KeyboardInterrupt

    system.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        fork.commit()
    fork.discard()
    HostFilesystem.recover(root)
    assert tree_at(root) == ({**BEFORE, "a.txt": b"changed"} if is_kept else BEFORE)


def test_a_system_that_cannot_lock_directories_still_sees_what_others_claimed(root):
    class Lockless(System):
        def flock(self, handle, operation):
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(errno.EBADF, "not here")
            System.flock(handle, operation)

    fs = HostFilesystem(root, system=Lockless(), durable=False)
    fork = fs.fork()
    fork.write("a.txt", "1")
    assert refused(lambda: fs.write("a.txt", "2"), "a.txt")
    fork.discard()
    assert tree_at(root) == BEFORE


def test_abandoned_fork_is_undone_by_the_next_write(root, fs):
    fork = fs.fork()
    fork.write("a.txt", "abandoned")
    del fork
    fs.write("new.txt", "1")
    assert tree_at(root) == {**BEFORE, "new.txt": b"1"}


def test_a_fork_that_only_reads_touches_no_disk(root):
    calls = []
    fs = HostFilesystem(root, system=Faults(before=lambda name, _: calls.append(name)))
    calls.clear()
    fs.fork().discard()
    fork = fs.fork()
    fork.commit()
    assert calls == []
    fork = fs.fork()
    fork.read("a.txt")
    fork.discard()
    assert set(calls) == {"open_beneath", "open", "fstat", "pread"}
