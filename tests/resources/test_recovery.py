"""Restoring files from a journal: the order, damaged logs, and dead processes."""

import errno
import os
from pathlib import Path

import pytest

from tests.resources.crash_driver import tree_at
from tests.resources.faults import Faults, abandon, names_in
from toolhaft.errors import CallEndedError, FilesystemError
from toolhaft.resources import HostFilesystem, journal_log
from toolhaft.resources.journal_log import (
    FileChange,
    JournalSeal,
    change_line,
    claim_line,
    read_log,
    undone_line,
)
from toolhaft.resources.recovery import void_log
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


# Putting back


def test_changes_before_a_failed_undo_of_the_same_path_are_not_undone(root):
    """Out of order, a second try would bring back a state that never was."""
    system = Faults(calls={"rename"})
    fork = HostFilesystem(root, system=system, durable=False).fork()
    fork.write("a.txt", "changed")
    fork.delete("a.txt")
    fork.write("dir/b.txt", "changed")
    system.count, system.fail_at = 0, 1
    with pytest.raises(FilesystemError, match=r"Could not restore a\.txt: Input/output error"):
        fork.discard()
    assert (root / "dir/b.txt").read_text() == "dir/b.txt", "others do not wait"
    fork.discard()
    assert tree_at(root) == BEFORE


def test_nested_forks_are_undone_in_the_order_of_their_changes(root, fs):
    outer = fs.fork()
    middle = outer.fork()
    inner = middle.fork()
    inner.write("new.txt", "1")
    middle.write("a.txt", "2")
    inner.write("a.txt", "3")
    outer.discard()
    assert tree_at(root) == BEFORE


def test_recovery_does_not_repeat_undone_changes(root, fs):
    fork = fs.fork()
    inner = fork.fork()
    inner.mkdir("new")
    inner.discard()
    (root / "new").mkdir()  # somebody else's, of the same name
    fork.write("a.txt", "changed")
    abandon(fork)
    HostFilesystem.recover(root)
    assert tree_at(root) == {**BEFORE, "new": None}


def test_commit_that_fails_in_its_last_step_restores_the_log_before_it_is_undone(root):
    """Else a process that dies while it puts things back would leave a mix behind."""
    system = Faults()
    fork = HostFilesystem(root, system=system).fork()
    fork.write("a.txt", "changed")
    fork.write("dir/b.txt", "changed")
    seen = []

    def watch(name, args):
        kinds = [path.suffix for path in (root / ".toolhaft").iterdir()]
        if name == "fsync" and ".void" in kinds and not seen:
            seen.append("failed")
            raise OSError(errno.EIO, "Input/output error")
        if name == "rename" and ".old-" in args[0]:
            seen.append(".log" in kinds)

    system.before = watch
    with pytest.raises(FilesystemError, match="could not be committed, and were undone"):
        fork.commit()
    assert seen == ["failed", True, True]
    assert tree_at(root) == BEFORE


def test_commit_that_fails_and_cannot_be_undone_raises_and_can_be_recovered(root):
    """All of it is there, and a later try takes all of it back."""
    system = Faults()
    fork = HostFilesystem(root, system=system).fork()
    fork.write("a.txt", "changed")
    fork.write("dir/b.txt", "changed")

    def fail(name, _):
        if name in ("fsync", "rename") and list((root / ".toolhaft").glob("*.void")):
            raise OSError(errno.EIO, "Input/output error")

    system.before = fail
    with pytest.raises(FilesystemError, match=r"Could not restore a\.txt, dir/b\.txt: Input/output error"):
        fork.commit()
    assert (root / "a.txt").read_text() == (root / "dir/b.txt").read_text() == "changed"
    with pytest.raises(CallEndedError):
        fork.write("a.txt", "late")
    system.before = None
    fork.discard()
    assert tree_at(root) == BEFORE


def test_file_added_to_a_new_directory_during_its_undo_is_kept(root):
    system = Faults()
    fork = HostFilesystem(root, system=system, durable=False).fork()
    fork.mkdir("new")

    def intrude(name, args):
        if name == "rename" and args[0] == "new":
            (root / "new/theirs.txt").write_text("1")

    system.before = intrude
    fork.discard()
    assert tree_at(root) == {**BEFORE, "new": None, "new/theirs.txt": b"1"}


def test_commit_during_a_recovery_is_not_undone(root):
    """The recovery opened the log, then the owner committed and died, and only then was the lock to be had."""
    fork = HostFilesystem(root, durable=False).fork()
    fork.write("a.txt", "changed")
    journal = fork._fork.journal  # noqa: SLF001 -- to stop it half-way
    done = []

    def meanwhile(name, _):
        if name == "flock" and not done:
            done.append(void_log(journal._host, journal.files))  # noqa: SLF001 -- to stop it half-way
            journal.release()

    HostFilesystem(root, system=Faults(before=meanwhile))
    assert tree_at(root) == {**BEFORE, "a.txt": b"changed"}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it asks the system which file a handle is")
def test_everything_that_undoes_a_change_is_on_the_disk_before_the_change(root):
    """The order that a power cut cannot break: new content, old content, log, names; only then the change."""
    steps = []

    def watch(name, args):
        if name == "fsync":
            path = Path(f"/proc/self/fd/{args[0]}").readlink()
            steps.append(f"fsync {path.relative_to(root)}")
        elif name in ("link", "rename", "mkdir", "write", "pwrite"):
            steps.append(name if name.endswith("write") else f"{name} {args[0]}")

    fs = HostFilesystem(root, system=Faults(before=watch))
    fork = fs.fork()
    fork.write("dir/b.txt", "changed")
    fork.commit()
    key = next(step for step in steps if step.endswith(".log"))[len("fsync .toolhaft/") : -len(".log")]
    assert [step.replace(key, "KEY") for step in steps] == [
        "mkdir .toolhaft",
        "fsync .",
        "pwrite",
        "write",
        "fsync .toolhaft/KEY.new-1",
        "link b.txt",
        "pwrite",
        "fsync .toolhaft/KEY.log",
        "fsync .toolhaft",
        "rename KEY.new-1",
        "fsync dir",
        "rename KEY.log",
        "fsync .toolhaft",
    ]


# What the log says


CHANGES = [
    FileChange(number=1, kind="mkdir", parts=("ä", "new\nline")),
    FileChange(number=2, kind="make", parts=("ä", "x")),
    FileChange(number=3, kind="remove", parts=("y",)),
]
SEAL = JournalSeal(b"k" * 32, root=5, journal="0123456789abcdef")
TEXTS = [claim_line(("ä",)), *map(change_line, CHANGES)]


def test_a_log_reads_back_what_was_written():
    said = read_log(SEAL.lines(TEXTS, 0), SEAL)
    assert said.is_ours
    assert list(said.changes.values()) == CHANGES
    assert said.claims.conflicts(("ä", "anything"))
    assert not said.claims.conflicts(("y",))


def test_undone_changes_in_a_log_are_skipped():
    said = read_log(SEAL.lines([*TEXTS, undone_line(CHANGES[1:])], 0), SEAL)
    assert list(said.changes.values()) == CHANGES[:1]


def test_log_is_read_up_to_its_first_incomplete_line():
    data = SEAL.lines(TEXTS, 0)
    whole = len(SEAL.lines(TEXTS[:-1], 0))
    for cut in range(whole, len(data)):
        for rest in (b"", b"\0" * 40, b"\n" + SEAL.lines(TEXTS[1:2], cut + 1)):
            if cut < len(data) - 1 or not rest.startswith(b"\n"):
                said = read_log(data[:cut] + rest, SEAL)
                assert (list(said.changes.values()), said.is_ours) == (CHANGES[:-1], True)


def test_a_line_counts_only_in_its_own_root_and_journal_and_place_and_with_the_key():
    data = SEAL.lines(TEXTS, 0)
    others = (
        JournalSeal(b"x" * 32, root=5, journal="0123456789abcdef"),
        JournalSeal(b"k" * 32, root=6, journal="0123456789abcdef"),
        JournalSeal(b"k" * 32, root=5, journal="0123456789abcdee"),
    )
    for seal in others:
        assert (read_log(data, seal).changes, read_log(data, seal).is_ours) == ({}, False)
    first, second = data.splitlines(keepends=True)[:2]
    assert not read_log(second + first, SEAL).is_ours
    assert read_log(first + first, SEAL).is_ours
    assert read_log(first + first, SEAL).changes == {}
    assert not read_log(b"".join(b"00000000 %b\n" % text for text in TEXTS), SEAL).is_ours


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".toolhaft/x", ".", "a\0"])
def test_forged_log_does_not_reach_outside_the_root(path):
    for text in (journal_log._line("make", path, 1), journal_log._line("destroy", "x", 1)):  # noqa: SLF001 -- what no honest writer writes
        assert read_log(SEAL.lines([text], 0), SEAL).changes == {}
        assert read_log(b"x " + text + b"\n", None).changes == {}


# What others leave in our directory


def test_file_in_place_of_the_journal_directory_does_not_prevent_reading(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (root / ".toolhaft").symlink_to(outside)
    fs = HostFilesystem(root)
    assert fs.read("a.txt").content == "a.txt"
    with pytest.raises(FilesystemError):
        fs.write("a.txt", "x")
    assert (root / "a.txt").read_text() == "a.txt"
    assert names_in(outside) == []


def test_foreign_files_in_the_journal_directory_are_kept(root):
    home = root / ".toolhaft"
    home.mkdir()
    (home / "note.txt").write_text("mine")
    os.mkfifo(home / "0123456789abcdef.log")
    (home / "0123456789abcdee.log").symlink_to(root / "a.txt")
    (home / "0123456789abcded.void").mkdir()
    names = names_in(home)
    HostFilesystem(root).write("a.txt", "changed")
    assert (names_in(home), (root / "a.txt").read_text()) == (names, "changed")


def test_a_failed_recovery_keeps_the_journal_and_blocks_only_its_own_paths(root):
    fork = HostFilesystem(root, durable=False).fork()
    fork.delete("a.txt")
    fork.write("dir/b.txt", "changed")
    abandon(fork)
    (root / "a.txt").mkdir()
    (root / "a.txt/foreign").write_text("x")
    fs = HostFilesystem(root, durable=False)
    fs.write("dir/b.txt", "new")
    fs.write("dir/b.txt", "dir/b.txt")
    for change in (lambda: fs.write("a.txt/below", "x"), lambda: fs.delete("a.txt", recursive=True)):
        with pytest.raises(FilesystemError, match=r"could not be restored \(a\.txt: .*lk files recover"):
            change()
    with pytest.raises(FilesystemError, match=r"Could not restore a\.txt"):
        HostFilesystem.recover(root)
    (root / "a.txt/foreign").unlink()
    (root / "a.txt").rmdir()
    assert HostFilesystem.recover(root) == 1
    assert tree_at(root) == BEFORE


def test_journal_is_created_although_others_remove_its_directory(root):
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

    with pytest.raises(FilesystemError, match="Could not create a journal"):
        HostFilesystem(root, system=Hopeless(), durable=False).write("a.txt", "x")
    assert (root / "a.txt").read_text() == "a.txt"
