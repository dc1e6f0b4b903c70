"""Appending to host files in place: the cost is that of what is appended, and the undo cuts it off."""

import os

import pytest

from tests.cases import in_case
from tests.resources.crash_driver import tree_at
from tests.resources.faults import Faults, abandon
from toolhaft.errors import FilesystemError
from toolhaft.resources import HostFilesystem, MemoryFilesystem

LARGE = 1 << 34


@pytest.fixture
def root(quick_path):
    (quick_path / "a.txt").write_text("old")
    os.utime(quick_path / "a.txt", ns=(5, 5))
    return quick_path


@pytest.fixture
def fs(root):
    return HostFilesystem(root, durable=False)


def append(fs, path="a.txt", content="+"):
    return fs.write(path, content, mode="append")


def test_appending_reads_and_rewrites_nothing_of_a_large_file(root):
    with (root / "large").open("wb") as file:
        file.truncate(LARGE)
    inode = (root / "large").stat().st_ino
    written = []

    def count(name, args):
        assert name != "pread" or "large" not in str(args)
        if name in ("write", "pwrite"):
            written.append(len(args[1]))

    fs = HostFilesystem(root, system=Faults(before=count))
    for end in ("commit", "discard"):
        with in_case(end):
            written.clear()
            fork = fs.fork()
            assert append(fork, "large", "x" * 1000) == 1000
            assert fork.read_bytes("large", offset=LARGE, limit=2000)[-5:] == b"xxxxx"
            assert sum(written) < 2000
            getattr(fork, end)()
    assert ((root / "large").stat().st_size, (root / "large").stat().st_ino) == (LARGE + 1000, inode)


def test_what_was_appended_is_cut_off_when_the_call_fails_or_dies(root, fs):
    def finish(how, fork):
        if how == "discard":
            fork.discard()
        else:
            abandon(fork)
            HostFilesystem.recover(root)

    steps = {
        "once": append,
        "twice": lambda fork: [append(fork), append(fork)],
        "then replaced": lambda fork: [append(fork), fork.write("a.txt", "new"), append(fork)],
        "then removed": lambda fork: [append(fork), fork.delete("a.txt"), append(fork)],
        "after replacing": lambda fork: [fork.write("a.txt", "new"), append(fork)],
        "to a new file": lambda fork: [append(fork, "new/b.txt"), append(fork, "new/b.txt")],
        "nested": lambda fork: [append(fork), append(inner := fork.fork()), inner.commit(), append(fork)],
        "nothing": lambda fork: append(fork, content=""),
    }
    inode = (root / "a.txt").stat().st_ino
    for name, change in steps.items():
        for how in ("discard", "die"):
            with in_case(name, how):
                fork = fs.fork()
                change(fork)
                finish(how, fork)
                assert tree_at(root) == {"a.txt": b"old"}
                info = (root / "a.txt").stat()
                assert (info.st_ino, info.st_mtime_ns) == (inode, 5)


def test_a_discarded_nested_append_keeps_that_of_the_outer_call(root, fs):
    outer = fs.fork()
    append(outer, content="1")
    inner = outer.fork()
    append(inner, content="2")
    assert inner.read("a.txt").content == "old12"
    inner.discard()
    append(outer, content="3")
    outer.commit()
    assert tree_at(root) == {"a.txt": b"old13"}


def test_a_file_that_this_call_created_is_extended_in_place(root):
    fs = HostFilesystem(root, durable=False, max_file_bytes=10)
    outer = fs.fork()
    for _ in range(3):
        append(outer, "new.txt", "0123456789")
        inner = outer.fork()
        append(inner, "new.txt", "0123456789")
        inner.commit()
    outer.commit()
    assert (root / "new.txt").stat().st_size == 60


def test_a_recovery_that_is_repeated_cuts_off_nothing_that_came_later(root, fs):
    """One path cannot be restored, so the journal stays; the other was restored and has new content."""
    (root / "b.txt").write_text("b")
    fork = fs.fork()
    append(fork)
    fork.write("b.txt", "changed")
    abandon(fork)
    (root / "b.txt").unlink()
    (root / "b.txt").mkdir()
    (root / "b.txt/x").touch()
    for _ in range(3):
        append(HostFilesystem(root, durable=False), content="later")
    assert (root / "a.txt").read_text() == "old" + 3 * "later"


def test_a_file_that_another_program_replaced_is_not_cut(root, fs):
    fork = fs.fork()
    append(fork, content="appended")
    (root / "theirs").write_text("their own file")
    (root / "theirs").rename(root / "a.txt")
    fork.discard()
    assert (root / "a.txt").read_text() == "their own file"


def test_an_append_that_fails_leaves_the_old_file(root):
    for number in range(30):
        system = Faults(fail_at=number)
        try:
            append(HostFilesystem(root, system=system), content="x" * 100)
        except FilesystemError:
            HostFilesystem.recover(root)
            assert tree_at(root) == {"a.txt": b"old"}
        else:
            (root / "a.txt").write_text("old")
    assert number < system.count + 30


def test_a_file_that_may_not_be_written_is_not_extended(root, fs):
    (root / "a.txt").chmod(0o444)
    if os.geteuid() == 0:
        pytest.skip("root may write anything")
    with pytest.raises(FilesystemError, match="Permission denied"):
        append(fs)


def test_versions_of_a_memory_file_share_what_was_appended():
    fs = MemoryFilesystem({"a.txt": "old"})
    views = [fs.fork() for _ in range(3)]
    for number, view in enumerate(views):
        append(view, content=str(number))
        append(view, content=str(number))
    assert [view.read("a.txt").content for view in views] == ["old00", "old11", "old22"]
    assert fs.read("a.txt").content == "old"
    views[1].commit()
    append(fs)
    assert (fs.read("a.txt").content, views[1].read("a.txt").content) == ("old11+", "old11")
    for number in range(1000):
        append(fs, content=f"{number:04}")
    assert fs.stat("a.txt").size_bytes == 4006
    assert fs.read_bytes("a.txt", offset=4000, limit=10) == b"980999"


def test_each_append_costs_the_same_however_many_a_call_makes(root):
    """To an old file, to one that the call created, and to many that it created."""
    calls = []
    fs = HostFilesystem(root, durable=False, system=Faults(before=lambda name, _: calls.append(name)))
    for case, path in (("old", "a.txt"), ("new", "new.txt"), ("many", "{}.txt")):
        with in_case(case):
            fork = fs.fork()
            if case == "many":
                for number in range(30):
                    fork.write(path.format(number), "x")
            counts = []
            for number in range(30):
                if case == "new" and not number:
                    append(fork, path)
                before = len(calls)
                append(fork, path.format(number))
                counts.append(len(calls) - before)
            assert max(counts[1:]) == min(counts[1:])
            fork.discard()


def test_a_file_with_other_names_is_copied_whatever_its_size(root):
    data = os.urandom(3_000_000)
    (root / "large").write_bytes(data)
    os.link(root / "large", root / "other name")
    fs = HostFilesystem(root, durable=False, max_file_bytes=1000)
    fork = fs.fork()
    append(fork, "large")
    fork.discard()
    assert (root / "large").samefile(root / "other name")
    append(fs, "large")
    assert (root / "large").read_bytes() == data + b"+"
    assert (root / "other name").read_bytes() == data
