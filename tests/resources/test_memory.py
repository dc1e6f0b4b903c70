"""Files in memory: cheap forks, and concurrent commits."""

import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.resources.kit import tree_of
from toolhaft.errors import FileBusyError, FileKindError, FileMissingError, FilesystemError, FileTooLargeError
from toolhaft.resources import FakeClock, MemoryFilesystem, SystemClock, persistent_map
from toolhaft.resources.pages import FileLimits
from toolhaft.resources.persistent_map import PersistentMap
from toolhaft.resources.search import VisitBudget

FILES = {"a": "a", "dir/b": "b", "dir/sub/c": "c"}


def test_writes_of_a_fork_are_invisible_until_it_commits():
    fs = MemoryFilesystem(FILES)
    one, two = fs.fork(), fs.fork()
    one.write("a", "one")
    assert (one.read("a").content, two.read("a").content, fs.read("a").content) == ("one", "a", "a")
    one.commit()
    assert (two.read("a").content, fs.read("a").content) == ("a", "one")


@each_case("first", ["ours", "theirs"])
@each_case(
    ("ours", "theirs"),
    [
        (lambda fs: fs.write("a", "1"), lambda fs: fs.write("dir/b", "2")),
        (lambda fs: fs.delete("a"), lambda fs: fs.delete("dir/b")),
        (lambda fs: fs.write("new/x", "1"), lambda fs: fs.write("new/y", "2")),
        (
            lambda fs: (fs.mkdir("new"), fs.write("new/x", "1")),
            lambda fs: (fs.mkdir("new"), fs.write("new/y", "2")),
        ),
        (lambda fs: fs.mkdir("new/deep"), lambda fs: fs.mkdir("new")),
        (
            lambda fs: (fs.delete("dir", recursive=True), fs.write("dir/z", "1")),
            lambda fs: fs.write("a", "2"),
        ),
        (lambda fs: (fs.write("x", "1"), fs.delete("x")), lambda fs: fs.write("y", "2")),
        (lambda fs: (fs.delete("dir/b"), fs.delete("dir", recursive=True)), lambda fs: fs.write("y", "2")),
    ],
)
def test_commits_of_different_paths_are_merged(ours, theirs, first):
    expected = MemoryFilesystem(FILES)
    ours(expected)
    theirs(expected)
    fs = MemoryFilesystem(FILES)
    one, two = fs.fork(), fs.fork()
    ours(one)
    theirs(two)
    for fork in (one, two) if first == "ours" else (two, one):
        fork.commit()
    assert tree_of(fs) == tree_of(expected)


@each_case(
    ("ours", "theirs", "path"),
    [
        (lambda fs: fs.write("./a", "1"), lambda fs: fs.write("a", "2"), "./a"),
        (lambda fs: fs.delete("a"), lambda fs: fs.write("a", "2"), "a"),
        (lambda fs: fs.delete("dir", recursive=True), lambda fs: fs.write("dir/sub/c", "2"), "dir"),
        (lambda fs: fs.write("dir/sub/new", "1"), lambda fs: fs.delete("dir", recursive=True), "dir/sub/new"),
        (lambda fs: fs.write("new", "1"), lambda fs: fs.write("new/y", "2"), "new"),
        (lambda fs: fs.write("new/x", "1"), lambda fs: fs.write("new", "2"), "new/x"),
        (
            lambda fs: (fs.delete("dir", recursive=True), fs.mkdir("dir")),
            lambda fs: fs.write("dir/x", "2"),
            "dir",
        ),
    ],
)
def test_second_commit_of_the_same_path_is_refused(ours, theirs, path):
    fs = MemoryFilesystem(FILES)
    one, two = fs.fork(), fs.fork()
    two.write("other", "untouched")
    ours(two)
    theirs(one)
    one.commit()
    before = tree_of(fs)
    with pytest.raises(FileBusyError) as error:
        two.commit()
    assert str(error.value).startswith(f"File busy: {path} is being changed by another call")
    assert tree_of(fs) == before
    two.discard()


def test_paths_changed_by_a_nested_fork_count_for_its_parent():
    fs = MemoryFilesystem(FILES)
    outer = fs.fork()
    inner = outer.fork()
    inner.write("a", "inner")
    inner.commit()
    fs.write("a", "meanwhile")
    with pytest.raises(FileBusyError):
        outer.commit()


def test_commits_of_many_threads_all_arrive():
    fs = MemoryFilesystem()
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        for turn in range(50):
            fork = fs.fork()
            fork.write(f"{number}/{turn}", "x")
            fork.commit()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(fs.list(recursive=True)) == 8 * 51


def copied_cells(monkeypatch, fs):
    """How many references one write to a filesystem copies, and how many directories it replaces."""
    copied = []

    def count(path, node):
        copied.append(sum(len(branch) for branch, _ in path) + (len(node) if type(node) is dict else 0))
        return rebuild(path, node)

    with monkeypatch.context() as patch:
        patch.setattr(persistent_map, "_rebuild", count)
        fork = fs.fork()
        fork.write("dir/3", "changed")
        fork.commit()
    return sum(copied), len(copied)


rebuild = persistent_map._rebuild  # noqa: SLF001 -- the work is counted here


def test_a_fork_with_a_write_costs_about_the_same_for_ten_files_and_twenty_thousand(monkeypatch):
    """A map of any size is copied along one path: a few branches of 32, and a bucket of 16."""
    cells, directories = copied_cells(
        monkeypatch, MemoryFilesystem({f"dir/{number}": "x" for number in range(10)})
    )
    assert directories == 2
    assert cells <= 2 * 16
    cells, directories = copied_cells(
        monkeypatch, MemoryFilesystem({f"dir/{number}": "x" for number in range(20_000)})
    )
    assert directories == 2
    assert cells <= 4 * 32 + 2 * 16
    grown = MemoryFilesystem()
    for number in range(2_000):
        grown.write(f"dir/{number}", "x")
    cells, _ = copied_cells(monkeypatch, grown)
    assert cells <= 3 * 32 + 2 * 16


def test_only_forks_remember_which_paths_they_changed():
    """A filesystem that is used for years must not grow with every write."""
    fs = MemoryFilesystem()
    fork = fs.fork()
    fork.write("a", "x")
    assert fork._touched == {("a",): "a"}  # noqa: SLF001 -- shows nowhere else
    fork.commit()
    fs.write("b", "x")
    fs.delete("b")
    assert fs._touched == {}  # noqa: SLF001 -- the same


def test_files_are_given_in_any_depth_and_checked():
    deep = "/".join(["d"] * 1200)
    assert MemoryFilesystem({deep: "x"}).read(f"/{deep}").content == "x"
    fs = MemoryFilesystem()
    fs.write(deep, "x")
    fs.delete(deep)
    assert fs.stat("/".join(["d"] * 1199)).kind == "directory"
    for files, error in (
        ({"a": "", "a/b": ""}, FileKindError),
        ({"a/b": "", "a": ""}, FileKindError),
        ({".": ""}, FileKindError),
        ({"../a": ""}, FilesystemError),
        ({"a": "x" * 11}, FileTooLargeError),
    ):
        with pytest.raises(error):
            MemoryFilesystem(files, max_file_bytes=10)


def test_scanning_a_file_raises():
    with pytest.raises(FileMissingError, match="File not found: a"):
        MemoryFilesystem(FILES).scan(("a",), "a", VisitBudget(FileLimits()))


def test_content_is_taken_as_it_was_given():
    data = bytearray(b"before")
    fs = MemoryFilesystem({"a": data})
    fs.write("b", data)
    data[:] = b"after!"
    assert fs.read("a").content == fs.read("b").content == "before"


def test_times_come_from_the_clock():
    clock = FakeClock(epoch_s=100.0)
    fs = MemoryFilesystem({"dir/a": "x"}, clock=clock)
    clock.advance(5)
    fs.write("dir/b", "y")
    assert [entry.modified_at for entry in fs.list(recursive=True)] == [105.0, 100.0, 105.0]
    assert (clock.time(), clock.monotonic()) == (105.0, 5.0)
    assert SystemClock().time() > 1_600_000_000
    assert SystemClock().monotonic() <= SystemClock().monotonic()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["set", "without"]), st.integers(0, 60).map(lambda number: f"name{number}")
        ),
        max_size=200,
    )
)
def test_persistent_map_behaves_like_an_immutable_dictionary(steps):
    model, maps = {}, [(PersistentMap.of({}), {})]
    for number, (step, name) in enumerate(steps):
        last, _ = maps[-1]
        if step == "set":
            model[name] = number
            last = last.set(name, number)
        else:
            model.pop(name, None)
            last = last.without(name)
        maps.append((last, dict(model)))
    for made, expected in maps:
        assert dict(made.items()) == expected
        assert len(made) == len(expected)
        assert all(made.get(name) == expected.get(name) for name in [*expected, "name0", "other"])


def test_names_whose_hashes_are_all_alike_are_kept_too(monkeypatch):
    class Alike(str):
        __slots__ = ()

        def __hash__(self):
            return 7

    names = [Alike(number) for number in range(100)]
    made = PersistentMap.of({})
    for name in names:
        made = made.set(name, name)
    assert len(made) == 100
    assert made.get(Alike("99")) == "99"
    assert len(PersistentMap.of(dict.fromkeys(names)).without(names[0])) == 99
    assert sys.getrecursionlimit() >= 100
