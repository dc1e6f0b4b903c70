"""Files that are read without waiting: those in memory, and those of which the system has every byte at hand."""

import errno
import os
import threading
from pathlib import Path
from unittest.mock import Mock

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
from toolhaft.resources.at_hand import flags_at_once
from toolhaft.resources.at_once import read_at_once
from toolhaft.resources.openat2 import AT_ONCE, find_openat2
from toolhaft.resources.system import System

LONG = "Grüße\n" * 20_000
NO_WAIT = 8


def can_read_at_once(folder):
    """True where the system is able to, asked without any of our code between."""
    (folder / "probe").write_text("probe")
    root, file = os.open(folder, os.O_RDONLY), os.open(folder / "probe", os.O_RDONLY)
    try:
        os.close(find_openat2()(root, "probe", os.O_RDONLY, AT_ONCE))
        os.preadv(file, [bytearray(9)], 0, flags_of(folder))
    except (AttributeError, OSError, TypeError):
        return False
    finally:
        os.close(file)
        os.close(root)
    return True


def flags_of(folder):
    handle = os.open(folder, os.O_RDONLY)
    try:
        return flags_at_once(handle)
    finally:
        os.close(handle)


class Pretending(System):
    """Says of every file that it is at hand, so that what follows is tried on any machine."""

    def open_at_once(self, handle, parts):
        try:
            return self.open_beneath(handle, parts, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return None

    def preadv(self, handle, buffers, offset, flags=0):
        assert flags == NO_WAIT
        return os.preadv(handle, buffers, offset)


@pytest.fixture
def host(quick_path):
    def make(system=None, **options):
        fs = HostFilesystem(quick_path, durable=False, system=system or Pretending(), **options)
        fs._host.flags_at_once = NO_WAIT  # noqa: SLF001 -- wherever the tests run
        return fs

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
    (quick_path / "a").write_text("short")
    assert host(System(openat2=False)).read_at_once("a") is None


def test_files_of_another_machine_are_not_read_at_once(host, quick_path):
    (quick_path / "a").write_text("x")
    fs = host()
    fs._host.flags_at_once = None  # noqa: SLF001 -- as for one that is mounted from afar
    assert fs.read_at_once("a") is None


def test_what_is_on_no_disk_of_this_machine_is_told_apart(tmp_path, monkeypatch):
    for folder in filter(Path.is_dir, map(Path, ("/proc", "/sys"))):
        assert flags_of(folder) is None
        assert HostFilesystem(folder, read_only=True).read_at_once("version") is None
    assert flags_at_once(-1) is None
    monkeypatch.setattr("sys.platform", "darwin")
    assert flags_of(tmp_path) is None


def test_what_lies_in_memory_is_read_at_once_too(quick_path):
    if quick_path.parts[1] == "dev":
        assert flags_of(quick_path) == 0
        (quick_path / "a").write_text(LONG)
        assert HostFilesystem(quick_path, durable=False).read_at_once("a").content == LONG


def test_the_system_is_told_not_to_wait():
    """What only a slow disk would show: each flag that keeps a call from waiting is handed over."""
    asked = []

    def openat2(handle, path, flags, bounds):
        asked.append((path, flags, bounds))
        return os.dup(file)

    file = os.open(__file__, os.O_RDONLY)
    system = System()
    system._openat2 = openat2  # noqa: SLF001 -- in place of the kernel
    os.close(system.open_at_once(5, ("a", "b")))
    os.close(file)
    in_memory, no_other_disk = 0x20, 0x01
    assert [bounds for _, _, bounds in asked] == [in_memory | no_other_disk] * 2
    assert {path for path, _, _ in asked} == {"a/b"}
    looked, opened = (flags for _, flags, _ in asked)
    assert looked & os.O_PATH
    assert opened & os.O_NOATIME
    assert opened & os.O_NONBLOCK


def test_another_disk_is_not_reached_at_once():
    openat2 = find_openat2()
    if openat2 is not None:
        root = os.open("/", os.O_RDONLY)
        try:
            os.close(openat2(root, "proc", os.O_RDONLY, 0))
            with pytest.raises(OSError) as error:  # noqa: PT011 -- which of two numbers depends on the kernel
                openat2(root, "proc", os.O_RDONLY, AT_ONCE)
            assert error.value.errno in (errno.EXDEV, errno.EAGAIN)
        finally:
            os.close(root)


def test_a_pipe_is_not_opened_to_see_that_it_is_one(tmp_path):
    """Opening it would wake whoever waits at the other end."""
    os.mkfifo(tmp_path / "pipe")
    has_opened = threading.Event()

    def write():
        with (tmp_path / "pipe").open("w"):
            has_opened.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert HostFilesystem(tmp_path).read_at_once("pipe") is None
    assert not has_opened.wait(0.1)
    with (tmp_path / "pipe").open():
        writer.join()
    assert has_opened.is_set()


def test_texts_are_read_side_by_side_and_one_room_is_kept(host, quick_path):
    texts = {name: name * 300_000 for name in "abc"}
    for name, text in texts.items():
        (quick_path / name).write_text(text)
    fs, wrong = host(), []

    def read(name):
        wrong.extend(1 for _ in range(50) if fs.read_at_once(name).content != texts[name])

    threads = [threading.Thread(target=read, args=(name,)) for name in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(map(len, source._rooms)) <= len(threads) * 2**20  # noqa: SLF001 -- what it holds on to


class Guarded(HostFilesystem):
    """Refuses more than the host does."""

    def read(self, path, **options):
        raise AssertionError(path)


class Slow(MemoryFilesystem):
    """Takes its time."""

    def read(self, path, **options):
        raise AssertionError(path)


class Guard:
    """Stands before another filesystem and refuses more."""

    def __init__(self, inner):
        self._inner = inner

    def read(self, path, **options):
        raise AssertionError(path)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_whoever_stands_before_a_filesystem_is_never_passed_by(tmp_path):
    (tmp_path / "a").write_text("x")
    memory = MemoryFilesystem({"a": "x"})
    assert read_at_once(memory, "a").content == "x"
    for files in (
        Guarded(tmp_path),
        Slow({"a": "x"}),
        Guard(memory),
        Guard(HostFilesystem(tmp_path)),
        Mock(wraps=memory),
        None,
    ):
        assert read_at_once(files, "a") is None


def test_files_in_memory_are_always_at_hand():
    fs = MemoryFilesystem({"a": LONG, "b": b"\xff", "large": "x" * (2 * 1024**2)})
    assert fs.read_at_once("large") is None
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
    assert registry.ready(Cache) is cache
    assert registry.ready(Filesystem) is registry.fork().ready(Filesystem) is None


def test_a_registry_of_ones_own_is_never_passed_by():
    class PerTenant(ResourceRegistry):
        def get(self, kind):
            raise AssertionError(kind)

    assert PerTenant({Database: Database()}).ready(Database) is None


def test_what_is_made_for_each_call_is_never_ready():
    registry = ResourceRegistry()
    registry.provide(Cache, Cache, scope="call")
    view = registry.fork()
    view.get(Cache)
    assert registry.ready(Cache) is None


def test_a_call_within_a_call_finds_ready_what_that_one_has_changed():
    fs = MemoryFilesystem({"a": "old"})
    registry = ResourceRegistry({Filesystem: fs, MemoryFilesystem: fs})
    outer = registry.fork()
    assert outer.ready(Filesystem) is None, "whoever asks first pins what the call sees"
    outer.get(MemoryFilesystem).write("a", "new")
    assert outer.ready(MemoryFilesystem).read("a").content == "new"
    assert outer.ready(Filesystem) is None
    assert outer.get(Filesystem) is outer.ready(Filesystem) is outer.ready(MemoryFilesystem)
    assert registry.ready(Filesystem).read("a").content == "old"
    outer.discard()
    assert outer.ready(Filesystem) is None
