"""The host's files: nothing outside the root is reached, whatever links or files there are."""

import errno
import gc
import os
import shutil
import socket
import stat
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.resources.faults import Faults, names_in
from toolhaft.errors import FileBusyError, FileDeniedError, FileKindError, FileMissingError, FilesystemError
from toolhaft.resources import FileText, HostFilesystem
from toolhaft.resources import system as system_module
from toolhaft.resources.system import DIRECTORY, REGULAR, System, find_openat2


@pytest.fixture
def root(quick_path):
    root = quick_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "file.txt").write_text("inside")
    (quick_path / "outside").mkdir()
    (quick_path / "outside/secret.txt").write_text("secret")
    return root


@pytest.fixture(params=[True, False], ids=["openat2", "walk"])
def system(request):
    return System(openat2=request.param)


@pytest.fixture
def fs(root, system):
    return HostFilesystem(root, system=system, durable=False)


def test_this_kernel_is_tested_with_openat2_too():
    if os.uname().sysname == "Linux" and tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 6):
        assert find_openat2() is not None


def test_an_absolute_path_outside_the_root_is_denied(fs, root):
    for path in ("/etc/passwd", "/", f"{root}-twin/x", str(root.parent), f"{root}/../outside/secret.txt"):
        for ask in (fs.read, fs.exists, fs.list, fs.delete, fs.mkdir):
            with pytest.raises(FileDeniedError) as error:
                ask(path)
            assert str(error.value) == f"Permission denied: {path}"
    with pytest.raises(FileDeniedError, match=r"^Permission denied: /etc/\*$"):
        fs.glob("/etc/*")


@pytest.mark.parametrize("target", ["../outside", "sub", "/etc", "nowhere"])
def test_links_are_neither_followed_nor_listed(fs, root, target):
    (root / "link").symlink_to(target)
    (root / "sub/inner").symlink_to("../file.txt")
    (root / "sub/below").symlink_to(root / target)
    for path in (
        "link",
        "link/secret.txt",
        "link/a/b",
        "sub/inner",
        "sub/below",
        "sub/below/x",
        "sub/below/x/y",
    ):
        for ask in (fs.read, fs.stat, fs.exists, fs.list, fs.delete, fs.mkdir):
            with pytest.raises(FileDeniedError) as error:
                ask(path)
            assert str(error.value) == f"Permission denied: {path}"
        for mode in ("overwrite", "append", "create"):
            with pytest.raises(FileDeniedError):
                fs.write(path, "x", mode=mode)
    assert [entry.path for entry in fs.list(recursive=True)] == ["file.txt", "sub"]
    assert fs.grep("inside") == [("file.txt", 1, "inside")]
    assert (root / "file.txt").read_text() == "inside"


def test_the_root_itself_may_be_reached_by_a_link(root, quick_path):
    (quick_path / "alias").symlink_to(root)
    fs = HostFilesystem(quick_path / "alias")
    assert fs.read(f"{quick_path}/alias/file.txt") == fs.read(f"{root}/file.txt") == fs.read("file.txt")


def test_a_root_that_is_swapped_for_a_link_is_still_the_same_directory(fs, root, quick_path):
    root.rename(quick_path / "moved")
    root.symlink_to(quick_path / "outside")
    assert fs.read("file.txt").content == "inside"
    fs.write("new.txt", "1")
    assert (quick_path / "moved/new.txt").read_text() == "1"
    assert names_in(quick_path / "outside") == ["secret.txt"]


@pytest.mark.parametrize("call", ["open_beneath", "open", "stat", "link", "rename", "mkdir", "access"])
def test_a_directory_swapped_for_a_link_between_any_two_calls_is_not_followed(root, quick_path, call):
    """The check and the use are one: whatever is swapped in between, nothing outside is read or changed."""
    inside, outside = root / "sub", quick_path / "outside"
    (inside / "secret.txt").write_text("mine")
    number = 0
    met = True
    while met:
        met, number = False, number + 1
        seen = 0

        def swap(name, _, number=number):
            nonlocal seen, met
            seen += name == call
            if name == call and seen == number:
                met = True
                inside.rename(root / "aside")
                inside.symlink_to(outside)

        fs = HostFilesystem(root, system=Faults(before=swap), durable=False)
        for act in (
            lambda fs=fs: fs.read("sub/secret.txt").content,
            lambda fs=fs: fs.write("sub/secret.txt", "hacked"),
            lambda fs=fs: fs.write("sub/new/deep.txt", "hacked"),
            lambda fs=fs: fs.delete("sub/secret.txt"),
            lambda fs=fs: fs.list("sub"),
        ):
            with suppress(FilesystemError):
                assert act() != "secret"
        fs.close()
        assert (outside / "secret.txt").read_text() == "secret"
        assert names_in(outside) == ["secret.txt"]
        if met:
            inside.unlink()
            (root / "aside").rename(inside)
        (inside / "secret.txt").write_text("mine")


def test_pipes_sockets_and_devices_are_refused_at_once(fs, root, monkeypatch):
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    kinds = ["pipe", "socket"]
    if os.geteuid() == 0:
        os.mknod(root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        kinds.append("zero")
    for path in kinds:
        for ask in (fs.read, fs.read_bytes, fs.stat, fs.delete):
            with pytest.raises(FileKindError) as error:
                ask(path)
            assert str(error.value) == f"Not a regular file: {path}"
        for mode in ("overwrite", "append"):
            with pytest.raises(FileKindError):
                fs.write(path, "x", mode=mode)
        assert fs.exists(path)
    assert [entry.path for entry in fs.list()] == ["file.txt", "sub"]


def test_a_hard_link_to_a_file_elsewhere_is_replaced_not_written_through(fs, root, quick_path):
    os.link(quick_path / "outside/secret.txt", root / "hard.txt")
    fork = fs.fork()
    fork.write("hard.txt", "x", mode="append")
    assert (root / "hard.txt").read_text() == "secretx"
    assert (quick_path / "outside/secret.txt").read_text() == "secret"
    fork.discard()
    assert (root / "hard.txt").samefile(quick_path / "outside/secret.txt"), "put back as the very same file"


def test_a_huge_sparse_file_is_paged_and_not_loaded(fs, root):
    with (root / "sparse").open("wb") as file:
        file.write(b"begin")
        file.truncate(1 << 40)
    assert fs.read("sparse", limit=5) == FileText("begin", 1 << 40, 5)
    assert fs.read_bytes("sparse", offset=(1 << 40) - 2, limit=10) == b"\0\0"
    for ask in (
        lambda: fs.read("sparse"),
        lambda: fs.read("sparse", offset=1 << 39, limit=1),
    ):
        with pytest.raises(FilesystemError, match="File too large"):
            ask()
    assert fs.grep("begin") == []
    fs.write("sparse", "end", mode="append")
    assert fs.read_bytes("sparse", offset=(1 << 40) - 1, limit=10) == b"\0end"
    fs.write("sparse", "small now")
    assert fs.read("sparse").content == "small now"


def test_files_that_grow_or_have_no_size_are_read_to_their_end(root):
    """As in /proc, where every file says that it is empty."""

    class Sizeless(System):
        def fstat(self, handle):
            facts = list(os.fstat(handle))
            facts[6] = 0
            return os.stat_result(facts)

    (root / "long").write_text("x" * 3_000_000)
    fs = HostFilesystem(root, system=Sizeless())
    assert fs.read_bytes("long") == b"x" * 3_000_000
    assert fs.read_bytes("file.txt", limit=3) == b"ins"
    with pytest.raises(FilesystemError, match="File too large: long has 101 bytes"):
        HostFilesystem(root, system=Sizeless(), max_file_bytes=100).read("long")


def test_mode_bits_survive_a_write_and_come_back_with_the_time(fs, root):
    os.chmod(root / "file.txt", 0o640)  # noqa: PTH101 -- as below
    os.utime(root / "file.txt", (1_000_000_000, 1_000_000_001))
    before = (root / "file.txt").stat()
    fork = fs.fork()
    fork.write("file.txt", "changed")
    during = (root / "file.txt").stat()
    assert stat.S_IMODE(during.st_mode) == 0o640
    assert during.st_ino != before.st_ino
    fork.discard()
    after = (root / "file.txt").stat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (
        before.st_ino,
        before.st_mode,
        before.st_mtime_ns,
    )


def test_removed_directory_is_restored_with_its_links_and_mode(fs, root):
    (root / "sub/link").symlink_to("/etc")
    os.chmod(root / "sub", 0o710)  # noqa: PTH101, S103 -- a plain call, of no harm here
    fork = fs.fork()
    with pytest.raises(FilesystemError, match="Directory not empty"):
        fork.delete("sub")
    fork.delete("sub", recursive=True)
    assert not (root / "sub").exists()
    fork.discard()
    assert os.readlink(root / "sub/link") == "/etc"  # noqa: PTH115 -- a plain call
    assert stat.S_IMODE((root / "sub").stat().st_mode) == 0o710


def test_journal_removes_deep_trees_and_follows_no_links_in_them(root, quick_path):
    fs = HostFilesystem(root, durable=False)
    deep = os.open(root / "sub", DIRECTORY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=deep)
        deeper = os.open("d", DIRECTORY, dir_fd=deep)
        os.symlink(quick_path / "outside", "link", dir_fd=deeper)
        os.close(deep)
        deep = deeper
    os.fchmod(deep, 0o500)
    os.close(deep)
    fs.delete("sub", recursive=True)
    assert names_in(root) == ["file.txt"]
    assert (quick_path / "outside/secret.txt").exists()


def test_file_names_that_are_not_utf_8_are_hidden(fs, root):
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe"))).write_text("x")
    assert [entry.path for entry in fs.list()] == ["file.txt", "sub"]
    with pytest.raises(FilesystemError, match="not valid text"):
        fs.read(os.fsdecode(b"\xff\xfe"))


def test_error_for_a_missing_root_quotes_it_as_written(quick_path, monkeypatch):
    monkeypatch.chdir(quick_path)
    with pytest.raises(FileMissingError, match=r"^File not found: nowhere$"):
        HostFilesystem("nowhere")
    Path("plain").write_text("")
    with pytest.raises(FilesystemError, match="plain"):
        HostFilesystem("plain")
    with pytest.raises(FileMissingError, match=r"^File not found: nowhere$"):
        HostFilesystem.recover("nowhere")


def test_no_error_message_contains_the_path_of_the_root(fs, root):
    (root / "link").symlink_to("/etc")
    told = []
    for ask in (
        lambda: fs.read("no"),
        lambda: fs.read("link"),
        lambda: fs.list("file.txt"),
        lambda: fs.write("sub", "x"),
        lambda: fs.write("file.txt/x", "x"),
        lambda: fs.delete("sub/no/no"),
    ):
        with pytest.raises(FilesystemError) as error:
            ask()
        told += [error.value, error.value.__cause__, error.value.__context__]
    assert all(str(root) not in str(error) for error in told)


def test_closing_gives_the_handle_back_and_ends_everything(root):
    gc.collect()  # of other tests
    handles = Path("/proc/self/fd")
    before = len(names_in(handles)) if handles.exists() else 0
    with HostFilesystem(root) as fs:
        fork = fs.fork()
        fork.write("a", "1")
        fork.close()  # a handler's, say: the others go on
        fork.commit()
        with pytest.raises(FilesystemError):
            fs.write("sub", "x")
    for ask in (fs.list, lambda: fs.read("file.txt"), lambda: fs.fork().write("b", "2")):
        with pytest.raises(FilesystemError, match="closed"):
            ask()
    fs.close()
    assert (len(names_in(handles)) if handles.exists() else 0) == before


def test_a_file_that_may_not_be_written_is_not_replaced(root):
    class NotWritable(System):
        access = staticmethod(lambda *_, **__: False)

    fs = HostFilesystem(root, system=NotWritable())
    with pytest.raises(FileDeniedError, match=r"^Permission denied: file\.txt$"):
        fs.write("file.txt", "x")
    assert (root / "file.txt").read_text() == "inside"
    assert not (root / ".toolhaft").exists()


@pytest.mark.parametrize("number", [errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_a_system_without_hard_links_keeps_copies(root, number):
    class Linkless(System):
        def link(self, *_, **__):
            raise OSError(number, os.strerror(number))

    os.chmod(root / "file.txt", 0o600)  # noqa: PTH101 -- a plain call
    os.utime(root / "file.txt", (1_000_000_000, 1_000_000_000))
    fs = HostFilesystem(root, system=Linkless())
    fork = fs.fork()
    fork.write("file.txt", "changed")
    fork.write("new/one", "1")
    fork.discard()
    facts = (root / "file.txt").stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_mtime) == (0o600, 1_000_000_000)
    assert (root / "file.txt").read_text() == "inside"
    assert not (root / "new").exists()
    fs.write("file.txt", "kept")
    fs.write("new/one", "1")
    assert (root / "file.txt").read_text() == "kept"
    assert names_in(root) == ["file.txt", "new", "sub"]


def test_another_device_below_the_root_is_refused(root):
    class Mounted(System):
        def link(self, *_, **__):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    fs = HostFilesystem(root, system=Mounted())
    with pytest.raises(
        FilesystemError, match=r"^Cannot change: file\.txt is on another device than the root"
    ):
        fs.write("file.txt", "x")
    assert (root / "file.txt").read_text() == "inside"


def test_a_file_that_somebody_else_makes_meanwhile_is_not_lost(root):
    """Between our look and our write: 'create' says that it is taken, and a rollback leaves it alone."""

    def intrude(name, args):
        if name == "link":
            (root / "new.txt").write_text("theirs")

    fs = HostFilesystem(root, system=Faults(before=intrude), durable=False)
    with pytest.raises(FilesystemError, match=r"File exists: new\.txt"):
        fs.write("new.txt", "ours", mode="create")
    (root / "new.txt").unlink()
    with pytest.raises(FileBusyError):
        fs.write("new.txt", "ours")
    assert (root / "new.txt").read_text() == "theirs"


def test_a_file_put_into_a_directory_while_it_is_removed_is_not_lost(root):
    def intrude(name, args):
        if name == "rename" and args[0] == "sub":
            (root / "sub/late.txt").write_text("theirs")

    fs = HostFilesystem(root, system=Faults(before=intrude), durable=False)
    with pytest.raises(FilesystemError, match="Directory not empty: sub"):
        fs.delete("sub")
    assert (root / "sub/late.txt").read_text() == "theirs"


def test_file_of_another_process_in_a_new_directory_is_kept(fs, root):
    fork = fs.fork()
    fork.write("new/ours.txt", "1")
    (root / "new/theirs.txt").write_text("2")
    fork.discard()
    assert names_in(root / "new") == ["theirs.txt"]


def test_many_threads_read_and_write_beside_each_other(fs, root):
    errors = []

    def work(number):
        try:
            for turn in range(20):
                fork = fs.fork()
                fork.write(f"t{number}.txt", f"{turn}")
                assert fork.read(f"t{number}.txt").content == f"{turn}"
                (fork.commit if turn % 2 else fork.discard)()
        except Exception as error:  # noqa: BLE001 -- told below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {fs.read(f"t{number}.txt").content for number in range(6)} == {"19"}
    assert not (root / ".toolhaft").exists()


def test_files_removed_during_a_search_are_skipped(root):
    """Between the listing and the look: nobody is told of a file that is gone."""
    (root / "sub/inner").mkdir()
    (root / "sub/inner/x.txt").write_text("inside")
    (root / "sub/y.txt").write_text("inside")

    class Vanishing(System):
        def __init__(self, victim, call):
            super().__init__()
            self.victim, self.call = victim, call

        def vanish(self, call):
            if self.call == call and self.victim.exists():
                (shutil.rmtree if self.victim.is_dir() else os.unlink)(self.victim)

        @contextmanager
        def scandir(self, handle):
            with os.scandir(handle) as entries:
                found = list(entries)
            self.vanish("scandir")
            yield iter(found)

        def open_beneath(self, handle, parts, flags):
            self.vanish("open" if flags == REGULAR else "/".join(parts))
            return super().open_beneath(handle, parts, flags)

    fs = HostFilesystem(root, system=Vanishing(root / "sub/y.txt", "scandir"))
    assert [entry.path for entry in fs.list("sub")] == ["sub/inner"]
    fs = HostFilesystem(root, system=Vanishing(root / "sub/inner/x.txt", "open"))
    assert [hit.path for hit in fs.grep("inside")] == ["file.txt"]
    fs = HostFilesystem(root, system=Vanishing(root / "sub/inner", "sub/inner"))
    assert [entry.path for entry in fs.list("sub", recursive=True)] == ["sub/inner"]


def test_a_file_swapped_for_a_link_before_it_is_saved_is_denied(root, quick_path):
    def intrude(name, args):
        if name == "access":
            (root / "file.txt").unlink()
            (root / "file.txt").symlink_to(quick_path / "outside/secret.txt")

    fs = HostFilesystem(root, system=Faults(before=intrude))
    with pytest.raises(FileDeniedError):
        fs.write("file.txt", "x")
    assert (quick_path / "outside/secret.txt").read_text() == "secret"


def test_directory_that_another_process_creates_meanwhile_is_accepted(root):
    seen = []

    def intrude(name, args):
        seen.append(name)
        if name == "flock" and seen.count("flock") == 2:  # between our look and our claim
            (root / "new").mkdir()

    HostFilesystem(root, system=Faults(before=intrude), durable=False).mkdir("new")
    assert names_in(root) == ["file.txt", "new", "sub"]


def test_a_full_directory_that_somebody_else_makes_meanwhile_is_not_lost(root):
    def intrude(name, args):
        if name == "rename" and args[1] == "new":
            (root / "new").mkdir()
            (root / "new/theirs.txt").write_text("1")

    fs = HostFilesystem(root, system=Faults(before=intrude), durable=False)
    with pytest.raises(FileBusyError):
        fs.write("new/ours.txt", "2")
    assert names_in(root / "new") == ["theirs.txt"]


def test_missing_openat2_is_detected(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, "no such call")

    assert system_module._works(refuse) is False  # noqa: SLF001 -- an old kernel is hard to come by
    monkeypatch.setattr(system_module, "_works", lambda _: False)
    assert find_openat2.__wrapped__() is None
    monkeypatch.setattr("sys.platform", "darwin")
    assert find_openat2.__wrapped__() is None
