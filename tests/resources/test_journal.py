"""Open forks beside each other, ended forks, and what dead processes leave: the journal of the host's files.

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
from tests.resources.faults import Faults, abandon, names_in
from toolhaft.errors import CallEndedError, FileBusyError, FilesystemError
from toolhaft.resources import HostFilesystem, log
from toolhaft.resources.log import Change, change_line, claim_line, read_log, undone_line
from toolhaft.resources.system import System


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
def test_a_directory_counts_for_all_that_is_in_it(root, fs, first, second, path):
    one, two = fs.fork(), fs.fork()
    first(one)
    assert refused(lambda: second(two), path)
    one.discard()
    two.discard()
    assert tree_at(root) == BEFORE


def test_forks_of_one_fork_are_strangers_and_their_fork_waits_for_them(root, fs):
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


def test_what_another_process_is_changing_is_busy_and_put_back_when_it_dies(root, fs, pytestconfig):
    """Also for a filesystem that was open all the time: it does not write over what is to be put back."""
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
def test_a_write_that_is_under_way_when_the_call_ends_is_put_back_with_the_rest(root, call):
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


def test_a_fork_that_is_given_up_is_put_back_by_whoever_writes_next(root, fs):
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


# What the log says


CHANGES = [
    Change(number=1, kind="mkdir", parts=("ä", "new\nline")),
    Change(number=2, kind="make", parts=("ä", "x")),
    Change(number=3, kind="remove", parts=("y",)),
]
LINES = [claim_line(("ä",)), *map(change_line, CHANGES)]


def test_a_log_reads_back_what_was_written():
    said = read_log(b"".join(LINES))
    assert list(said.changes.values()) == CHANGES
    assert said.claims.meets(("ä", "anything"))
    assert not said.claims.meets(("y",))


def test_what_was_undone_is_not_undone_again():
    said = read_log(b"".join([*LINES, undone_line(CHANGES[1:])]))
    assert list(said.changes.values()) == CHANGES[:1]


def test_a_torn_line_and_all_after_it_was_never_done():
    data = b"".join(LINES)
    whole = len(b"".join(LINES[:-1]))
    for cut in range(whole, len(data)):
        assert list(read_log(data[:cut]).changes.values()) == CHANGES[:-1]
        assert list(read_log(data[:cut] + b"\0" * 40).changes.values()) == CHANGES[:-1]
        if cut < len(data) - 1:
            assert list(read_log(data[:cut] + b"\n" + LINES[1]).changes.values()) == CHANGES[:-1]


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".toolhaft/x", ".", "a\0"])
def test_a_log_that_somebody_made_up_leads_nowhere_outside(path):
    line = log._line("make", path, 1)  # noqa: SLF001 -- what no honest writer writes
    assert read_log(line).changes == {}
    assert read_log(log._line("destroy", "x", 1)).changes == {}  # noqa: SLF001 -- as above


# What others leave in our directory


def test_a_journal_directory_of_another_kind_is_no_hindrance_to_reading(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (root / ".toolhaft").symlink_to(outside)
    fs = HostFilesystem(root)
    assert fs.read("a.txt").content == "a.txt"
    with pytest.raises(FilesystemError):
        fs.write("a.txt", "x")
    assert (root / "a.txt").read_text() == "a.txt"
    assert names_in(outside) == []


def test_what_is_not_ours_in_our_directory_stays(root):
    home = root / ".toolhaft"
    home.mkdir()
    (home / "note.txt").write_text("mine")
    os.mkfifo(home / "0123456789abcdef.log")
    (home / "0123456789abcdee.log").symlink_to(root / "a.txt")
    (home / "0123456789abcded.void").mkdir()
    with pytest.raises(FilesystemError):
        HostFilesystem(root)
    (home / "0123456789abcdee.log").unlink()
    (home / "0123456789abcded.void").rmdir()
    HostFilesystem(root).write("a.txt", "changed")
    assert names_in(home) == ["0123456789abcdef.log", "note.txt"]


def test_a_log_that_is_too_large_to_be_ours_is_told(root):
    (root / ".toolhaft").mkdir()
    with (root / ".toolhaft/0123456789abcdef.log").open("wb") as log:
        log.truncate(1 << 40)
    with pytest.raises(FilesystemError, match="none of ours"):
        HostFilesystem(root)


def test_something_that_cannot_be_put_back_stops_the_start_and_loses_nothing(root):
    fork = HostFilesystem(root, durable=False).fork()
    fork.delete("a.txt")
    fork.write("dir/b.txt", "changed")
    abandon(fork)
    (root / "a.txt").mkdir()
    (root / "a.txt/foreign").write_text("x")
    with pytest.raises(FilesystemError, match=r"Could not put back a\.txt after a call that was cut short"):
        HostFilesystem(root)
    (root / "a.txt/foreign").unlink()
    (root / "a.txt").rmdir()
    assert HostFilesystem.recover(root) == 1
    assert tree_at(root) == BEFORE


def test_others_who_clean_up_while_a_journal_begins_do_not_stop_it(root):
    """Its log is taken for a dead one, or its directory for an empty one: it begins again."""
    tries = []

    class Busy(System):
        def open(self, path, flags, mode=0o777, *, dir_fd=None):
            if flags & os.O_CREAT and str(path).endswith(".log"):
                tries.append(path)
                if len(tries) == 1:
                    (root / ".toolhaft").rmdir()
                if len(tries) == 2:
                    handle = os.open(path, flags, mode, dir_fd=dir_fd)
                    HostFilesystem.recover(root)
                    return handle
            return os.open(path, flags, mode, dir_fd=dir_fd)

    HostFilesystem(root, system=Busy(), durable=False).write("a.txt", "changed")
    assert len(tries) == 3
    assert tree_at(root) == {**BEFORE, "a.txt": b"changed"}


def test_a_journal_that_can_never_begin_says_so(root):
    class Hopeless(System):
        def flock(self, *_):
            raise BlockingIOError

    with pytest.raises(FilesystemError, match="Could not begin a journal"):
        HostFilesystem(root, system=Hopeless(), durable=False).write("a.txt", "x")
    assert (root / "a.txt").read_text() == "a.txt"


def test_a_claim_waits_for_its_turn_and_not_for_ever(root, monkeypatch):
    monkeypatch.setattr("toolhaft.resources.journal._LONGEST_TURN_S", 0.02)
    fs = HostFilesystem(root, durable=False)
    holder = fs.fork()
    holder.write("dir/b.txt", "1")
    home = holder._scope.journal.store.home  # noqa: SLF001 -- nobody else may lock it
    System.flock(home, 2)  # as if it were stopped in the middle of a claim
    assert refused(lambda: fs.write("a.txt", "2"), "a.txt")
    System.flock(home, 8)
    fs.write("a.txt", "2")
    holder.discard()
    assert tree_at(root) == {**BEFORE, "a.txt": b"2"}
