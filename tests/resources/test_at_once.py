"""Files that are read without waiting: those in memory, and those of which the system has every byte at hand."""

import os

import pytest

from tests.resources.things import Cache, Database
from toolhaft.resources import (
    Filesystem,
    FileText,
    HostFilesystem,
    MemoryFilesystem,
    ResourceRegistry,
    source,
)
from toolhaft.resources.openat2 import AT_ONCE, find_openat2
from toolhaft.resources.system import System

LONG = "Grüße\n" * 20_000


def can_read_at_once(folder):
    """True where the system is able to, asked without any of our code between."""
    (folder / "probe").write_text("probe")
    root, file = os.open(folder, os.O_RDONLY), os.open(folder / "probe", os.O_RDONLY)
    try:
        os.close(find_openat2()(root, "probe", os.O_RDONLY, AT_ONCE))
        os.preadv(file, [bytearray(9)], 0, os.RWF_NOWAIT)
    except (AttributeError, OSError, TypeError):
        return False
    finally:
        os.close(file)
        os.close(root)
    return os.major(folder.stat().st_dev) != 0


class Pretending(System):
    """Says of every file that it is at hand, so that what follows is tried on any machine."""

    def open_at_once(self, handle, parts):
        try:
            return self.open_beneath(handle, parts, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return None

    def preadv(self, handle, buffers, offset, flags=0):
        assert flags == os.RWF_NOWAIT
        return os.preadv(handle, buffers, offset)


@pytest.fixture
def host(quick_path, monkeypatch):
    def make(system=None, **options):
        fs = HostFilesystem(quick_path, durable=False, system=system or Pretending(), **options)
        fs._host.is_on_disk = True  # noqa: SLF001 -- wherever the tests run
        return fs

    monkeypatch.setattr("toolhaft.resources.host.CAN_READ_AT_ONCE", True)
    monkeypatch.setattr(os, "RWF_NOWAIT", source._NO_WAIT, raising=False)  # noqa: SLF001 -- 0 on systems without
    return make


def test_what_this_system_has_at_hand_is_read_at_once(tmp_path):
    is_able = can_read_at_once(tmp_path)
    (tmp_path / "deep/er").mkdir(parents=True)
    fs = HostFilesystem(tmp_path)
    for path, text in (("short", "x"), ("deep/er/long", LONG)):
        (tmp_path / path).write_text(text)
        expected = FileText(text, len(text.encode()), None) if is_able else None
        assert fs.read_at_once(path) == expected
        assert fs.fork(read_only=True).read_at_once(f"{tmp_path}/{path}") == expected
    assert fs.read_at_once("nowhere") is None


@pytest.mark.parametrize("text", ["", "x", LONG, "no end\r\n\x00"], ids=["empty", "short", "long", "odd"])
def test_a_file_at_hand_is_read_as_it_is(host, quick_path, text):
    (quick_path / "a").write_bytes(text.encode())
    assert host().read_at_once("a") == FileText(text, len(text.encode()), None)


def test_whatever_is_amiss_is_left_to_who_tells_of_it(host, quick_path):
    fs = host(max_file_bytes=3_000_000)
    (quick_path / "folder").mkdir()
    (quick_path / "latin").write_bytes(b"gr\xfcn")
    (quick_path / "large").write_bytes(b"x" * 2_500_000)
    (quick_path / "link").symlink_to("latin")
    os.mkfifo(quick_path / "pipe")
    paths = ["nowhere", "folder", "latin", "large", "link", "pipe", "../a", "", "a\0", "/etc/passwd"]
    assert [path for path in paths if fs.read_at_once(path) is not None] == []
    (quick_path / "more").write_text("more than allowed")
    assert host(max_file_bytes=5).read_at_once("more") is None
    fs.close()
    assert fs.read_at_once("more") is None


def test_what_would_be_waited_for_is_not_read_at_once(host, quick_path):
    (quick_path / "a").write_text(LONG)

    class Cold(Pretending):
        count = 0

        def preadv(self, handle, buffers, offset, flags=0):
            if not self.count:
                raise BlockingIOError
            return min(self.count, super().preadv(handle, buffers, offset, flags))

    system = Cold()
    assert host(system).read_at_once("a") is None
    system.count = 100
    assert host(system).read_at_once("a") is None, "a part of it is not the file"
    system.count = len(LONG.encode())
    assert host(system).read_at_once("a").content == LONG
    with source._in_use:  # noqa: SLF001 -- to be sure that it is in use
        assert host().read_at_once("a") is None
    (quick_path / "a").write_text("short")
    assert host(System(openat2=False)).read_at_once("a") is None


def test_files_of_another_machine_are_not_read_at_once(host, quick_path):
    (quick_path / "a").write_text("x")
    fs = host()
    fs._host.is_on_disk = False  # noqa: SLF001 -- as for one that is mounted from afar
    assert fs.read_at_once("a") is None


class Guarded(HostFilesystem):
    """Refuses more than the host does."""

    def read(self, path, **options):
        raise AssertionError(path)


class Slow(MemoryFilesystem):
    """Takes its time."""

    def read(self, path, **options):
        raise AssertionError(path)


def test_a_class_of_ones_own_is_never_passed_by(tmp_path):
    (tmp_path / "a").write_text("x")
    assert Guarded(tmp_path).read_at_once("a") is None
    assert Slow({"a": "x"}).read_at_once("a") is None


def test_files_in_memory_are_always_at_hand():
    fs = MemoryFilesystem({"a": LONG, "b": b"\xff"})
    assert fs.read_at_once("a") == fs.read("a")
    assert fs.read_at_once("b") is None
    assert fs.read_at_once("nowhere") is None
    fork = fs.fork()
    fork.write("a", "changed")
    assert fork.read_at_once("a").content == "changed"


def test_only_what_is_there_already_is_ready():
    given = Database()
    registry = ResourceRegistry({Database: given})
    registry.provide(Cache, Cache)
    assert registry.ready(Database) is given
    assert registry.ready(Cache) is None, "nobody asked for one yet"
    cache = registry.get(Cache)
    assert registry.ready(Cache) is registry.fork().ready(Cache) is cache
    assert registry.ready(Filesystem) is registry.fork().ready(Filesystem) is None


def test_what_is_made_for_each_call_is_never_ready():
    registry = ResourceRegistry()
    registry.provide(Cache, Cache, scope="call")
    view = registry.fork()
    view.get(Cache)
    assert registry.ready(Cache) is view.ready(Cache) is None


def test_a_call_within_a_call_finds_ready_what_that_one_has_changed():
    fs = MemoryFilesystem({"a": "old"})
    registry = ResourceRegistry({Filesystem: fs, MemoryFilesystem: fs})
    outer = registry.fork()
    assert outer.ready(Filesystem) is fs
    outer.get(MemoryFilesystem).write("a", "new")
    for view in (outer, outer.fork(read_only=True)):
        assert view.ready(MemoryFilesystem).read("a").content == "new"
        assert view.ready(Filesystem).read("a").content == "new", "it goes by two kinds"
    assert registry.ready(Filesystem).read("a").content == "old"
    outer.discard()
    assert outer.ready(Filesystem) is None
