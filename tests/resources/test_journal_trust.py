"""Journals that cannot be undone, and journals that somebody else wrote: neither changes or blocks other files."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import in_case
from tests.resources.crash_driver import tree_at
from tests.resources.faults import Faults, abandon, names_in
from toolhaft.errors import FilesystemError
from toolhaft.resources import HostFilesystem, state_key
from toolhaft.resources.host import recover_folder
from toolhaft.resources.journal_log import FileChange, JournalSeal, change_line, claim_line
from toolhaft.resources.recovery import MAX_LOG_BYTES

BEFORE = {"a.txt": b"a.txt", "dir": None, "dir/b.txt": b"dir/b.txt", "dir/c.txt": b"dir/c.txt"}
KEY = "0123456789abcdef"


@pytest.fixture
def root(quick_path):
    root = quick_path / "root"
    for path in ("a.txt", "dir/b.txt", "dir/c.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def plant(root, data, **files):
    home = root / ".toolhaft"
    home.mkdir(exist_ok=True)
    (home / f"{KEY}.log").write_bytes(data)
    for name, content in files.items():
        (home / f"{KEY}.{name.replace('_', '-')}").write_text(content)
    return home


def forged_lines(root, seal=None):
    """A log that replaces a.txt by the journal's old-1, and removes dir/b.txt."""
    seal = seal or JournalSeal(b"x" * 32, root=root.stat().st_ino, journal=KEY)
    changes = [
        FileChange(number=1, kind="replace", parts=("a.txt",)),
        FileChange(number=2, kind="make", parts=("dir", "b.txt")),
    ]
    return seal.lines([claim_line(("a.txt",)), *map(change_line, changes)], 0)


def interrupted(root):
    """A call of this user that was killed."""
    fork = HostFilesystem(root, durable=False).fork()
    fork.write("a.txt", "changed")
    fork.delete("dir/c.txt")
    fork.write("dir/b.txt", "changed")
    abandon(fork)
    return tree_at(root)


PLANTED = {
    "another key": lambda root: plant(root, forged_lines(root), old_1="evil"),
    "no code": lambda root: plant(
        root,
        b"".join(line.partition(b" ")[2] + b"\n" for line in forged_lines(root).splitlines()),
        old_1="evil",
    ),
    "a checksum": lambda root: plant(root, b"deadbeef " + claim_line(("a.txt",)) + b"\n", old_1="evil"),
    "of another root": lambda root: plant(
        root, forged_lines(root, JournalSeal(state_key.journal_key(), root=1, journal=KEY)), old_1="evil"
    ),
    "of another call": lambda root: plant(
        root,
        forged_lines(root, JournalSeal(state_key.journal_key(), root=root.stat().st_ino, journal="f" * 16)),
        old_1="evil",
    ),
    "deep": lambda root: plant(root, b"x " + b"[" * 100_000 + b"\n"),
    "binary": lambda root: plant(root, os.urandom(5000).replace(b"\n", b"") + b"\n"),
    "huge": lambda root: os.truncate(plant(root, b"\n") / f"{KEY}.log", MAX_LOG_BYTES + 1),
}


def test_a_planted_journal_is_set_aside_and_changes_nothing(root, caplog):
    for name, plant_it in PLANTED.items():
        with in_case(name):
            shutil.rmtree(root / ".toolhaft", ignore_errors=True)
            caplog.clear()
            plant_it(root)
            planted = {path.name for path in (root / ".toolhaft").iterdir()}
            fs = HostFilesystem(root, durable=False)
            fs.write("a.txt", "mine")
            fs.write("a.txt", "a.txt")
            assert {path: content for path, content in tree_at(root).items() if path[0] != "."} == BEFORE
            kept = {name.replace(".log", ".aside") for name in planted}
            assert {path.name for path in (root / ".toolhaft").iterdir()} == kept
            (record,) = caplog.records
            assert record.levelno == logging.WARNING
            assert f"`lk files recover {root} --accept` undoes that call" in record.message


def test_a_folder_that_was_copied_with_an_interrupted_call_is_recovered_on_request(root, quick_path):
    elsewhere = quick_path / "elsewhere"
    shutil.copytree(root, elsewhere)
    state = interrupted(elsewhere)
    shutil.rmtree(root)
    shutil.copytree(elsewhere, root)
    HostFilesystem(root).close()
    assert {path: tree_at(root)[path] for path in ("a.txt", "dir/b.txt")} == {
        path: state[path] for path in ("a.txt", "dir/b.txt")
    }
    assert recover_folder(root).aside == 1
    found = recover_folder(root, accept=True)
    assert (found.undone, found.aside, found.stuck) == (1, 0, [])
    assert tree_at(root) == BEFORE


def saved(root, how):
    """A copy of the journals as they are now, beside the root."""
    copy = root.parent / f"saved-{os.urandom(4).hex()}"
    shutil.copytree(root / ".toolhaft", copy, copy_function=how)
    return copy


def replays(root):
    """Journals of this user that were saved while their call was open, and are put back after it has ended."""
    for how in (shutil.copy2, os.link):
        interrupted(root)
        copy = saved(root, how)
        yield f"recovered, {how.__name__}", copy, lambda: HostFilesystem(root).close()
        for end in ("commit", "discard"):
            fork = HostFilesystem(root, durable=False).fork()
            fork.write("a.txt", "changed")
            fork.write("dir/b.txt", " and more", mode="append")
            yield f"{end}, {how.__name__}", saved(root, how), getattr(fork, end)


def test_a_journal_that_is_put_back_after_its_call_has_ended_changes_nothing(root, state):
    for name, copy, end in replays(root):
        with in_case(name):
            end()
            assert names_in(state / "open-journals") == []
            for path in ("a.txt", "dir/b.txt", "dir/c.txt"):
                (root / path).write_text(path)
            copy.rename(root / ".toolhaft")
            for old in (root / ".toolhaft").glob("*.old-*"):
                old.unlink()
                old.write_text("evil")
            HostFilesystem(root, durable=False).write("dir/c.txt", "dir/c.txt")
            assert {path: content for path, content in tree_at(root).items() if path[0] != "."} == BEFORE
            assert recover_folder(root).undone == 0
            shutil.rmtree(root / ".toolhaft", ignore_errors=True)


def test_opening_read_only_recovers_nothing_and_writes_nothing(root):
    for name, leave in {"own": interrupted, "planted": PLANTED["another key"]}.items():
        with in_case(name):
            leave(root)
            before, names = tree_at(root), names_in(root / ".toolhaft")
            times = {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}
            fs = HostFilesystem(root, read_only=True)
            assert fs.read("dir/b.txt").content == before["dir/b.txt"].decode()
            fs.fork().discard()
            fs.close()
            assert (tree_at(root), names_in(root / ".toolhaft")) == (before, names)
            assert times == {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}
            HostFilesystem(root).close()
            assert tree_at(root).items() >= BEFORE.items()


def swap_for_link(root):
    (root / "dir").rename(root / "moved")
    (root / "dir").symlink_to(root / "moved")


def swap_for_file(root):
    shutil.rmtree(root / "dir")
    (root / "dir").write_text("a file now")


def swap_for_outside(root):
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "b.txt").write_text("outside")
    shutil.rmtree(root / "dir")
    (root / "dir").symlink_to(outside)


def swap_leaf_for_directory(root):
    (root / "dir/b.txt").unlink()
    (root / "dir/b.txt").mkdir()
    (root / "dir/b.txt/x").write_text("x")


@pytest.mark.parametrize("when", ["during the call", "after its process died"])
@pytest.mark.parametrize(
    "swap",
    [swap_for_link, swap_for_file, swap_for_outside, swap_leaf_for_directory],
    ids=lambda swap: swap.__name__,
)
def test_what_cannot_be_restored_blocks_only_its_own_paths(root, swap, when):
    fork = HostFilesystem(root, durable=False).fork()
    fork.write("a.txt", "changed")
    fork.write("dir/b.txt", "changed")
    swap(root)
    if when == "during the call":  # whose view stays open, such as in the traceback of its error
        for _ in range(2):
            with pytest.raises(FilesystemError, match=r"Could not restore dir/b\.txt.* lk files recover"):
                fork.discard()
    else:
        abandon(fork)
    for read_only in (True, False, True):
        fs = HostFilesystem(root, durable=False, read_only=read_only)
        assert fs.exists("a.txt")
    assert (root / "a.txt").read_text() == "a.txt"
    writer = HostFilesystem(root, durable=False)
    writer.write("new/x.txt", "works")
    writer.write("a.txt", "works")
    with pytest.raises(FilesystemError):
        writer.write("dir/b.txt", "x")
    if (root.parent / "outside").exists():
        assert tree_at(root.parent / "outside") == {"b.txt": b"outside"}
    found = recover_folder(root)
    assert (found.undone, len(found.stuck)) == (0, 1)
    assert recover_folder(root, drop=True).stuck == []
    assert recover_folder(root).stuck == []
    assert not (root / ".toolhaft").exists()


@pytest.mark.parametrize("end", ["commit", "discard"])
def test_a_call_that_could_not_be_undone_is_undone_once_nothing_is_in_the_way(root, end):
    system = Faults(calls={"fsync"}) if end == "commit" else None
    fork = HostFilesystem(root, durable=end == "commit", system=system).fork()
    fork.write("a.txt", "changed")
    fork.write("dir/b.txt", "changed")
    swap_leaf_for_directory(root)
    if system is not None:
        system.count, system.fail_at = 0, 1
    with pytest.raises(FilesystemError, match=r"Could not restore dir/b\.txt"):
        getattr(fork, end)()
    with pytest.raises(FilesystemError, match=r"Could not restore dir/b\.txt"):
        fork.discard()
    shutil.rmtree(root / "dir/b.txt")
    fork.discard()
    assert tree_at(root) == BEFORE
    fork.discard()


def test_what_is_in_the_place_of_the_journal_folder_is_named_and_not_followed(root, quick_path):
    elsewhere = quick_path / "elsewhere"
    elsewhere.mkdir()
    reserved = root / ".toolhaft"
    makers = {
        "a link": lambda: reserved.symlink_to(elsewhere),
        "a link to nothing": lambda: reserved.symlink_to(quick_path / "none"),
        "a file": lambda: reserved.write_text("x"),
        "a pipe": lambda: os.mkfifo(reserved),
    }
    for name, make in makers.items():
        with in_case(name):
            make()
            fs = HostFilesystem(root, durable=False)
            assert fs.read("a.txt").content == "a.txt"
            with pytest.raises(
                FilesystemError, match=r"\.toolhaft in the root is not a folder. Fix: remove it"
            ):
                fs.write("a.txt", "changed")
            assert list(elsewhere.iterdir()) == []
            reserved.unlink()
    assert tree_at(root) == BEFORE


def test_a_journal_folder_of_another_user_is_not_used(root, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    home = plant(
        root, forged_lines(root, JournalSeal(state_key.journal_key(), root=root.stat().st_ino, journal=KEY))
    )
    os.chown(home, 12345, 12345)
    fs = HostFilesystem(root)
    assert fs.read("a.txt").content == "a.txt"
    with pytest.raises(FilesystemError, match="belongs to another user"):
        fs.write("a.txt", "x")
    assert names_in(home) == [f"{KEY}.log"]
    assert (root / "a.txt").read_text() == "a.txt"


# The key


@pytest.fixture
def state(quick_path, monkeypatch):
    folder = quick_path / "state"
    monkeypatch.setenv("TOOLHAFT_STATE", str(folder))
    return folder


def test_the_key_is_created_once_and_readable_only_by_its_user(state):
    key = state_key.journal_key()
    assert (len(key), state_key.journal_key()) == (32, key)
    assert names_in(state) == ["journal.key", "open-journals"]
    assert (state / "journal.key").stat().st_mode & 0o777 == 0o600
    state_key._key_in.cache_clear()  # noqa: SLF001 -- as in another process
    assert state_key.journal_key() == key


@pytest.mark.external
def test_processes_that_create_the_key_at_once_agree_on_it(state, pytestconfig):
    code = "from toolhaft.resources.state_key import journal_key; print(journal_key().hex())"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=pytestconfig.rootpath)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in started}) == 1
    assert names_in(state) == ["journal.key", "open-journals"]


def broken_keys(state):
    state.mkdir()
    (state / "open-journals").write_text("a file")
    yield "no folder for open journals"
    (state / "open-journals").unlink()
    key = state / "journal.key"
    key.write_bytes(b"short")
    key.chmod(0o600)
    yield "short"
    key.write_bytes(b"x" * 32)
    key.chmod(0o644)
    yield "readable by others"
    key.unlink()
    key.symlink_to(state / "elsewhere")
    yield "a link"
    key.unlink()
    os.mkfifo(key, 0o600)
    yield "a pipe"
    shutil.rmtree(state)
    state.write_text("a file")
    yield "a file in place of the folder"


def test_without_a_usable_key_rollback_works_and_an_interrupted_call_is_set_aside(root, state, caplog):
    for name in broken_keys(state):
        with in_case(name):
            state_key._key_in.cache_clear()  # noqa: SLF001 -- as in a new process
            caplog.clear()
            fork = HostFilesystem(root, durable=False).fork()
            fork.write("a.txt", "changed")
            fork.discard()
            assert tree_at(root) == BEFORE
            assert "Fix: set TOOLHAFT_STATE to a folder of your own" in caplog.records[0].message
            interrupted(root)
            state_key._key_in.cache_clear()  # noqa: SLF001 -- the next process
            HostFilesystem(root).close()
            assert (root / "a.txt").read_text() == "changed"
            assert recover_folder(root, accept=True).undone == 1
            assert tree_at(root) == BEFORE


def test_a_home_that_does_not_exist_or_cannot_be_written_is_no_error(root, monkeypatch, tmp_path):
    monkeypatch.delenv("TOOLHAFT_STATE")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for home in ("/dev/null/none", str(tmp_path)):
        monkeypatch.setenv("HOME", home)
        state_key._key_in.cache_clear()  # noqa: SLF001 -- as in a new process
        HostFilesystem(root, durable=False).write("a.txt", "a.txt")
    assert (Path(home) / ".local/state/toolhaft/journal.key").is_file()
