"""A full or broken disk at each system call in turn: a failed call is undone completely."""

import errno
import os

import pytest

from tests.resources.crash_driver import AFTER, START, fill, one_call, tree_at, whole
from tests.resources.faults import CHANGING, READING, Faults, abandon
from toolhaft.errors import FilesystemError, ToolhaftError
from toolhaft.resources import HostFilesystem

BEFORE = whole(START)


def fresh(quick_path, number):
    root = quick_path / str(number)
    root.mkdir()
    fill(root, START)
    return root


def attempt(fs):
    """A call as an executor runs it; True where it was kept."""
    made = []

    class Watched:
        def fork(self):
            made.append(fs.fork())
            return made[-1]

    try:
        one_call(Watched())
    except ToolhaftError:
        made[0].discard()
        return False
    return True


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("calls", [CHANGING, READING], ids=["changing", "reading"])
def test_call_with_one_fault_is_undone_or_committed_completely(quick_path, number, calls):
    kept, stride = [], 1 if os.environ.get("TOOLHAFT_LONG") else 3
    for at in range(0, 10_000, stride):
        root = fresh(quick_path, at)
        system = Faults(number=number, calls=calls)
        fs = HostFilesystem(root, system=system, durable=calls is CHANGING)
        system.count, system.fail_at = 0, at
        kept.append(attempt(fs))
        system.heal()
        HostFilesystem.recover(root)
        assert tree_at(root) == (AFTER if kept[-1] else BEFORE), at
        if system.count <= at:
            break
    assert kept[0] is False
    assert kept[-1] is True
    assert len(kept) > 60 // stride


@pytest.mark.parametrize("restart", [False, True], ids=["by the same", "by a new start"])
def test_failed_rollback_raises_and_can_be_repeated(quick_path, restart):
    loud = 0
    for at in range(0, 10_000, 3 if os.environ.get("TOOLHAFT_LONG") else 7):
        root = fresh(quick_path, at)
        system = Faults(forever=True)
        fs = HostFilesystem(root, system=system)
        system.count, system.fail_at = 0, at
        fork = fs.fork()
        try:
            one_call(type("", (), {"fork": lambda self: fork})())  # noqa: B023 -- called at once
        except FilesystemError:
            pass
        else:
            break
        try:
            fork.discard()
        except FilesystemError as error:
            loud += 1
            assert "Could not restore" in str(error)  # noqa: PT017 -- it does not come with every fault
        system.heal()
        if restart:
            abandon(fork)
            HostFilesystem.recover(root)
        else:
            fork.discard()
            HostFilesystem.recover(root)  # only what could not be swept away
        # a new start cannot know that a commit failed whose last step was done, and not even that could be undone
        assert tree_at(root) in ((BEFORE, AFTER) if restart else (BEFORE,)), at
    assert loud > 4


def test_error_message_has_no_path_of_the_root(quick_path):
    root = fresh(quick_path, 1)
    system = Faults(number=errno.ENOSPC)
    fs = HostFilesystem(root, system=system)
    system.count, system.fail_at = 0, 3
    with pytest.raises(FilesystemError) as error:
        fs.write("src/a.txt", "x")
    assert str(error.value) == "No space left on device: src/a.txt"
    assert tree_at(root) == BEFORE


def test_failed_commit_raises_and_undoes_everything(quick_path):
    root = fresh(quick_path, 1)
    system = Faults(calls={"fsync"})
    fs = HostFilesystem(root, system=system)
    fork = fs.fork()
    fork.write("kept.txt", "changed")
    system.count, system.fail_at = 0, 0
    with pytest.raises(FilesystemError, match="could not be committed, and were undone: Input/output error"):
        fork.commit()
    assert tree_at(root) == BEFORE
    fork.discard()
