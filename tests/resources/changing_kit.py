"""Writing and forking: the second half of the conformance kit of filesystems."""

import re

import pytest

from tests.resources.kit import TREE, Kit, refusal, tell, tree_of
from toolhaft.errors import (
    CallEndedError,
    FileDeniedError,
    FileKindError,
    FilesystemError,
    FileTakenError,
    FileTooLargeError,
    ReadOnlyError,
)
from toolhaft.resources import FileText


class WritingKit(Kit):
    def test_writing_makes_parents_and_counts_bytes(self, fs):
        assert fs.write("new/deep/file.txt", "grün") == 5
        assert fs.read("new/deep/file.txt").content == "grün"
        assert fs.stat("new/deep").kind == "directory"

    def test_overwriting_replaces_and_appending_adds(self, fs):
        assert fs.write("a.txt", "one") == 3
        assert fs.write("a.txt", "two!") == 4
        assert fs.write("a.txt", b" three", mode="append") == 6
        assert fs.write("b.txt", "begun", mode="append") == 5
        assert (fs.read("a.txt").content, fs.read("b.txt").content) == ("two! three", "begun")

    def test_creating_an_existing_file_is_refused(self, fs):
        assert fs.write("fresh.txt", "1", mode="create") == 1
        with pytest.raises(FileTakenError) as error:
            fs.write("fresh.txt", "2", mode="create")
        assert tell(error) == "File exists: fresh.txt; use mode 'overwrite' or 'append' to change it"
        assert fs.read("fresh.txt").content == "1"

    def test_a_directory_is_not_overwritten_and_a_file_has_nothing_below_it(self, fs):
        for mode in ("overwrite", "append", "create"):
            with pytest.raises(FileKindError, match=r"^Is a directory: src$"):
                fs.write("src", "x", mode=mode)
        for path in ("readme.md/x", "readme.md/x/y"):
            with pytest.raises(FileKindError, match=f"^Not a directory: {path}"):
                fs.write(path, "x")
            with pytest.raises(FileKindError, match=f"^Not a directory: {path}"):
                fs.mkdir(path)
        with pytest.raises(FileKindError, match=r"^Not a directory: readme\.md"):
            fs.mkdir("readme.md")
        with pytest.raises(FileDeniedError):
            fs.write(".", "x")

    def test_a_write_is_limited_and_a_file_can_grow_by_appending(self, make):
        fs = make({"a": "12345"}, max_file_bytes=10)
        for _ in range(3):
            assert fs.write("a", "1234567890", mode="append") == 10
        assert (fs.stat("a").size_bytes, fs.read("a", offset=3, limit=4).content) == (35, "4512")
        assert fs.read_bytes("a", offset=30, limit=10) == b"67890"
        with pytest.raises(FileTooLargeError) as error:
            fs.write("a", "12345678901", mode="append")
        assert tell(error) == (
            "File too large: 11 bytes for a, at most 10 are written at once; "
            "append it in parts, or write several smaller files"
        )
        with pytest.raises(FileTooLargeError):
            fs.write("sub/b", "12345678901")
        assert fs.stat("a").size_bytes == 35
        assert not fs.exists("sub")

    def test_half_a_surrogate_pair_is_not_written(self, fs):
        with pytest.raises(FilesystemError, match="Cannot write: a: character 2 of the text"):
            fs.write("a", "ab\ud800")
        assert not fs.exists("a")

    def test_an_unknown_mode_is_refused_and_changes_nothing(self, fs):
        fs.write("kept.txt", "old")
        for mode in ("w", "a", "", None):
            message = refusal(FilesystemError, fs.write, "kept.txt", "new", mode=mode)
            assert message == f"Invalid mode: {mode!r}; use create, overwrite or append"
            assert fs.read("kept.txt").content == "old", mode

    def test_a_path_that_is_not_text_is_refused(self, fs):
        for path in (None, 5):
            assert refusal(FilesystemError, fs.read, path).endswith("it is not text")

    def test_empty_files_and_all_bytes_are_read_back(self, fs):
        fs.write("empty", "")
        fs.write("all", bytes(range(256)))
        assert fs.read("empty") == FileText("", 0, None)
        assert fs.read_bytes("all") == bytes(range(256))
        with pytest.raises(FilesystemError, match=r"a int is neither text nor bytes"):
            fs.write("number", 5)

    def test_deleting_removes_files_and_empty_directories(self, fs):
        fs.delete("readme.md")
        fs.mkdir("hollow/inner")
        fs.delete("hollow/inner")
        assert [entry.path for entry in fs.list()] == [".hidden", "hollow", "src"]

    def test_a_full_directory_is_deleted_only_when_asked(self, fs):
        with pytest.raises(FilesystemError) as error:
            fs.delete("src")
        assert tell(error) == "Directory not empty: src; use recursive=True to remove all that is in it"
        assert fs.exists("src/deep/er/mod.py")
        fs.delete("src", recursive=True)
        assert not fs.exists("src")
        for recursive in (False, True):
            with pytest.raises(FileDeniedError, match=re.escape("Permission denied: .")):
                fs.delete(".", recursive=recursive)

    def test_creating_an_existing_directory_does_nothing(self, fs):
        fs.mkdir("src")
        fs.mkdir(".")
        fs.mkdir("a/b/c")
        fs.mkdir("a/b/c")
        assert [entry.path for entry in fs.list("a", recursive=True)] == ["a/b", "a/b/c"]

    def test_nothing_is_written_where_only_reading_is_allowed(self, make):
        fs = make(TREE, read_only=True)
        for change in (
            lambda: fs.write("readme.md", "x"),
            lambda: fs.delete("readme.md"),
            lambda: fs.mkdir("d"),
            lambda: fs.fork().write("d", "x"),
        ):
            with pytest.raises(ReadOnlyError, match=r"^Read-only: "):
                change()
        assert fs.read_only
        assert fs.fork().read_only


class ForkKit(Kit):
    def change_much(self, fs):
        fs.write("readme.md", "changed")
        fs.write("readme.md", " again", mode="append")
        fs.write("new/one", "1")
        fs.delete("src", recursive=True)
        fs.write("src", "a file now")
        fs.mkdir("hollow")
        fs.delete(".hidden/rc")
        fs.delete(".hidden")

    after = {  # noqa: RUF012 -- a constant
        "readme.md": b"changed again",
        "new": None,
        "new/one": b"1",
        "src": b"a file now",
        "hollow": None,
    }

    def test_a_discarded_fork_leaves_everything_as_it_was(self, fs):
        before, stats = tree_of(fs), fs.list(recursive=True)
        fork = fs.fork()
        self.change_much(fork)
        assert tree_of(fork) == self.after
        fork.discard()
        fork.discard()
        assert tree_of(fs) == before
        kept = [entry for entry in stats if entry.kind == "file"]
        assert [entry for entry in fs.list(recursive=True) if entry.kind == "file"] == kept, "times too"

    def test_changes_of_a_committed_fork_are_visible(self, fs):
        fork = fs.fork()
        self.change_much(fork)
        fork.commit()
        fork.discard()
        assert tree_of(fs) == self.after

    def test_an_ended_fork_writes_nothing(self, fs):
        for end in ("commit", "discard"):
            fork = fs.fork()
            getattr(fork, end)()
            before = tree_of(fs)
            for change in (
                lambda: fork.write("x", "x"),  # noqa: B023 -- called in this very round
                lambda: fork.delete("readme.md"),  # noqa: B023 -- called in this very round
                lambda: fork.mkdir("x"),  # noqa: B023 -- called in this very round
            ):
                with pytest.raises(CallEndedError, match="has ended"):
                    change()
            with pytest.raises(CallEndedError):
                fork.commit()
            assert tree_of(fs) == before

    def test_a_failed_write_leaves_no_trace_in_a_fork(self, make):
        fs = make({"a": "1"}, max_file_bytes=5)
        fork = fs.fork()
        with pytest.raises(FileTooLargeError):
            fork.write("x/y/z", "123456")
        fork.commit()
        assert tree_of(fs) == {"a": b"1"}

    def test_a_fork_of_a_fork_commits_into_it(self, fs):
        before = tree_of(fs)
        outer = fs.fork()
        outer.write("one", "outer")
        inner = outer.fork()
        inner.write("one", "inner")
        inner.write("two/x", "inner")
        inner.commit()
        assert outer.read("one").content == "inner"
        outer.write("one", "outer again")
        outer.discard()
        assert tree_of(fs) == before

    def test_discarded_nested_fork_undoes_only_its_own_changes(self, fs):
        outer = fs.fork()
        outer.write("one", "outer")
        inner = outer.fork()
        inner.write("one", "inner")
        inner.delete("src", recursive=True)
        inner.discard()
        third = outer.fork()
        third.write("three", "3")
        third.commit()
        outer.commit()
        assert fs.read("one").content == "outer"
        assert fs.exists("src/main.py")
        assert fs.read("three").content == "3"

    def test_the_end_of_a_fork_ends_the_forks_within_it(self, fs):
        for end in ("commit", "discard"):
            outer = fs.fork()
            inner = outer.fork()
            inner.write("inner", "1")
            getattr(outer, end)()
            with pytest.raises(CallEndedError):
                inner.write("late", "1")
            with pytest.raises(CallEndedError):
                inner.commit()
            inner.discard()
            assert not fs.exists("inner")

    def test_a_read_only_fork_reads_and_ends(self, fs):
        fork = fs.fork(read_only=True)
        assert fork.read("readme.md").size_bytes == 20
        with pytest.raises(ReadOnlyError):
            fork.write("readme.md", "x")
        with pytest.raises(ReadOnlyError):
            fork.fork().write("readme.md", "x")
        fork.commit()

    def test_commit_and_discard_outside_a_fork_do_nothing(self, fs):
        fs.write("a", "1")
        fs.commit()
        fs.discard()
        fs.write("a", "2")
        assert fs.read("a").content == "2"
