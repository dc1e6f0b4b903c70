"""Reading, paths and searching: the first half of the conformance kit of filesystems."""

from itertools import product

import pytest

from tests.resources.kit import Kit, refusal, tell
from toolhaft.errors import (
    FileDeniedError,
    FileKindError,
    FileMissingError,
    FilesystemError,
    FileTooLargeError,
)
from toolhaft.resources import FileText, GrepHit


class ReadingKit(Kit):
    def test_a_text_file_is_read_whole(self, fs):
        assert fs.read("readme.md") == FileText("# Notes\nsecond line\n", 20, None)

    def test_a_text_file_is_read_in_pages_of_characters(self, make):
        fs = make({"a.txt": "äöü€😀xyz"})
        pages, offset = [], 0
        while offset is not None:
            page = fs.read("a.txt", offset=offset, limit=3)
            pages.append(page.content)
            offset = page.next_offset
        assert pages == ["äöü", "€😀x", "yz"]

    def test_a_page_says_where_the_next_one_starts(self, make):
        fs = make({"a": "abcd"})
        for offset, limit, expected in (
            (0, 0, ("", 0)),
            (0, 4, ("abcd", None)),
            (0, 3, ("abc", 3)),
            (2, None, ("cd", None)),
            (4, 5, ("", None)),
            (99, 5, ("", None)),
            (99, None, ("", None)),
        ):
            page = fs.read("a", offset=offset, limit=limit)
            assert (page.content, page.next_offset) == expected, (offset, limit)

    def test_negative_pages_are_refused(self, fs):
        for read in (fs.read, fs.read_bytes):
            for offset, limit in ((-1, None), (0, -1)):
                message = refusal(FilesystemError, read, "readme.md", offset=offset, limit=limit)
                assert "0 or more" in message, (offset, limit)

    def test_bytes_are_read_whole_and_in_pages(self, fs):
        assert fs.read_bytes("src/deep/data.bin") == b"\x00\x01\x02hello"
        assert fs.read_bytes("src/deep/data.bin", offset=3) == b"hello"
        assert fs.read_bytes("src/deep/data.bin", offset=3, limit=2) == b"he"
        assert fs.read_bytes("src/deep/data.bin", offset=99) == b""

    def test_text_that_is_not_utf_8_is_refused_with_its_place(self, make):
        with pytest.raises(FileKindError) as error:
            make({"a": b"ok\xff"}).read("a")
        assert tell(error) == "Not a text file: a: byte 2 is not UTF-8; read its bytes instead"

    def test_line_ends_and_byte_order_marks_are_left_alone(self, make):
        assert make({"a": "\ufeffa\r\nb\rc"}).read("a").content == "\ufeffa\r\nb\rc"

    def test_a_file_over_the_limit_is_read_in_pages_only(self, make):
        fs = make({"big": "0123456789" * 3}, max_file_bytes=20)
        with pytest.raises(FileTooLargeError) as error:
            fs.read("big")
        assert tell(error) == (
            "File too large: big has 30 bytes, at most 20 are read at once; "
            "read it in pages, with offset and limit"
        )
        with pytest.raises(FileTooLargeError):
            fs.read_bytes("big")
        assert fs.read("big", offset=25, limit=3) == FileText("567", 30, 28)
        assert fs.read("big", offset=25, limit=5) == FileText("56789", 30, None)
        assert fs.read("big", limit=1000) == FileText("01234567890123456789", 30, 20)
        assert fs.read_bytes("big", offset=28, limit=9) == b"89"
        assert fs.read_bytes("big", offset=25) == b"56789"
        assert len(fs.read_bytes("big", limit=1000)) == 20

    def test_a_page_of_a_large_file_must_be_text_too(self, make):
        fs = make({"big": b"a" * 20 + b"\xff" + b"b" * 20}, max_file_bytes=20)
        with pytest.raises(FileKindError, match="byte 20 is not"):
            fs.read("big", offset=10, limit=20)

    def test_a_page_too_deep_in_a_large_file_is_refused(self, make):
        fs = make({"big": "x" * 300_000}, max_file_bytes=10)
        with pytest.raises(FileTooLargeError, match=r"paged in the first 250 bytes only; read its bytes"):
            fs.read("big", offset=299_000, limit=5)

    def test_missing_file_raises_file_missing(self, fs):
        for ask in (fs.read, fs.read_bytes, fs.stat, fs.list, fs.delete):
            for path in ("no.txt", "src/no/no.txt", "readme.md/below"):
                with pytest.raises(FileMissingError) as error:
                    ask(path)
                assert tell(error) == f"File not found: {path}"

    def test_directory_is_not_read_and_file_is_not_listed(self, fs):
        for ask in (fs.read, fs.read_bytes):
            with pytest.raises(FileKindError, match=r"^Is a directory: src$"):
                ask("src")
        with pytest.raises(FileKindError, match=r"^Not a directory: readme\.md"):
            fs.list("readme.md")

    def test_stat_tells_kind_size_and_time(self, fs):
        about = fs.stat("./src/../readme.md")
        assert (about.path, about.kind, about.size_bytes) == ("readme.md", "file", 20)
        assert about.modified_at > 1_600_000_000
        assert fs.stat("src")[:3] == ("src", "directory", 0)
        assert fs.stat(".")[:3] == (".", "directory", 0)

    def test_exists_says_what_is_there(self, fs):
        there = ("readme.md", "src", ".", "src/deep/", "no", "readme.md/below")
        assert [fs.exists(path) for path in there] == [True, True, True, True, False, False]

    def test_a_listing_is_sorted_and_by_path_from_the_root(self, fs):
        assert [entry[:3] for entry in fs.list()] == [
            (".hidden", "directory", 0),
            ("readme.md", "file", 20),
            ("src", "directory", 0),
        ]
        assert [entry.path for entry in fs.list("src")] == ["src/deep", "src/main.py"]
        assert [entry.path for entry in fs.list("src", recursive=True)] == [
            "src/deep",
            "src/deep/data.bin",
            "src/deep/er",
            "src/deep/er/mod.py",
            "src/main.py",
        ]

    def test_a_listing_that_is_too_long_is_refused(self, make):
        fs = make({f"d/{number}": "" for number in range(12)}, max_entries=10)
        with pytest.raises(FileTooLargeError) as error:
            fs.list("d")
        assert tell(error) == (
            "Too many entries: d holds more than 10; name a directory inside it, or narrow the pattern"
        )
        with pytest.raises(FileTooLargeError):
            fs.glob("d/*")
        assert len(fs.glob("d/1*")) == 3

    def test_a_listing_with_a_limit_is_cut_and_says_so(self, make):
        fs = make({f"d/{number:02}": "" for number in range(12)}, max_entries=10)
        first = fs.list("d", limit=3)
        assert ([entry.path for entry in first], first.is_cut) == (["d/00", "d/01", "d/02"], True)
        over = fs.list("d", limit=100)
        assert (len(over), over[-1].path, over.is_cut) == (10, "d/09", True), "max_entries is not exceeded"
        assert fs.list("d", limit=0).is_cut
        assert fs.list("d", limit=0) == []
        whole = make({"one/a": "", "one/b": ""}).list("one", limit=2)
        assert (len(whole), whole.is_cut) == (2, False)
        with pytest.raises(FilesystemError, match="0 or more"):
            fs.list("d", limit=-1)

    def test_cut_recursive_listing_keeps_the_least_nested_entries(self, make):
        fs = make({"a/x/1": "", "a/y": "", "b/z": "", "c": "", "d/e/f/g": ""})
        whole = fs.list(recursive=True, limit=11)
        assert (len(whole), whole.is_cut) == (11, False)
        for limit, expected in (
            (3, ["a", "b", "c"]),
            (4, ["a", "b", "c", "d"]),
            (5, ["a", "a/x", "b", "c", "d"]),
            (8, ["a", "a/x", "a/y", "b", "b/z", "c", "d", "d/e"]),
            (10, ["a", "a/x", "a/x/1", "a/y", "b", "b/z", "c", "d", "d/e", "d/e/f"]),
        ):
            cut = fs.list(recursive=True, limit=limit)
            assert ([entry.path for entry in cut], cut.is_cut) == (expected, True)

    def test_listing_examines_a_limited_number_of_entries(self, make):
        fs = make({f"{number % 12:02}/{number}": "" for number in range(120)}, max_entries=10)
        with pytest.raises(FileTooLargeError, match="holds more than 10;"):
            fs.list(recursive=True)
        cut = make({f"d/{number}": "" for number in range(120)}, max_entries=10).list("d", limit=10)
        assert (len(cut), cut.is_cut) == (10, True)

    def test_glob_examines_a_limited_number_of_entries(self, make):
        fs = make({f"{number % 30}/{number}": "" for number in range(120)}, max_entries=10)
        with pytest.raises(FileTooLargeError, match="holds more than 100;"):
            fs.glob("**/nothing")
        with pytest.raises(FileTooLargeError, match="holds more than 100;"):
            make({f"d/{number}": "" for number in range(120)}, max_entries=10).glob("*/nothing")


class PathKit(Kit):
    def test_a_path_that_leaves_the_root_is_denied(self, fs):
        paths = ("..", "../x", "src/../../x", "a/b/../../../x", "./..", "src/../..", "../root/readme.md")
        for path, ask in product(paths, (fs.read, fs.stat, fs.exists, fs.list, fs.delete, fs.mkdir)):
            assert refusal(FileDeniedError, ask, path) == f"Permission denied: {path}"
        for path in paths:
            assert refusal(FileDeniedError, fs.write, path, "x") == f"Permission denied: {path}"

    def test_an_absolute_path_inside_the_root_works(self, fs, absolute):
        assert fs.read(absolute("src/main.py")).content.startswith("import os")
        assert fs.write(absolute("src/new.py"), "1") == 1
        assert fs.stat(absolute("src/../src/new.py")).path == "src/new.py"
        assert [entry.path for entry in fs.glob(absolute("src/*.py"))] == ["src/main.py", "src/new.py"]
        assert fs.list(absolute(".")) == fs.list()

    def test_paths_are_normalized_without_the_disk(self, fs):
        assert fs.read("src//./nowhere/..///main.py/").content == fs.read("src/main.py").content

    def test_invalid_paths_are_refused(self, fs):
        for path, reason in (
            ("", "it is empty; the root is '.'"),
            ("a\0b", "it holds a NUL character"),
            ("x" * 256, "a name in it is longer than 255 bytes"),
            ("ä" * 128, "a name in it is longer than 255 bytes"),
            ("/".join(["abcdefg"] * 600), "it is longer than 4096 bytes"),
            ("\ud800", "it is not valid text"),
        ):
            for ask in (fs.read, fs.stat, fs.exists, fs.delete, fs.mkdir, fs.list):
                message = refusal(FilesystemError, ask, path)
                assert message.startswith("Invalid path: "), path
                assert message.endswith(reason), path
                assert len(message) < 2000

    def test_journal_files_are_denied_at_the_root_only(self, fs):
        for path in (".toolhaft", ".toolhaft/x", ".toolhaft-2/y", ".TOOLHAFT/x", "a/../.toolhaft"):
            for ask in (fs.read, fs.exists, fs.list, fs.delete, fs.mkdir):
                assert refusal(FileDeniedError, ask, path) == f"Permission denied: {path}"
            assert refusal(FileDeniedError, fs.write, path, "x") == f"Permission denied: {path}"
        fs.write("sub/.toolhaft", "fine")
        assert fs.glob("**/.toolhaft")[0].path == "sub/.toolhaft"

    def test_unusual_file_names_are_accepted(self, fs):
        for name in ("with space", "ünï😀", "a\\b", "~", "new\nline", "-rf", "x" * 255, "*", "[a]", "..."):
            fs.write(f"odd/{name}", name)
            assert fs.read(f"odd/{name}").content == name
        assert len(fs.list("odd")) == 10

    def test_a_long_path_is_cut_in_a_message(self, fs):
        with pytest.raises(FileMissingError) as error:
            fs.read("/".join(["abcdefg"] * 400))
        assert len(tell(error)) < 600


class SearchKit(Kit):
    def test_glob_finds_the_entries_that_match(self, fs):
        for pattern, path, expected in (
            ("*", ".", [".hidden", "readme.md", "src"]),
            ("*.py", ".", []),
            ("src/*.py", ".", ["src/main.py"]),
            ("**/*.py", ".", ["src/deep/er/mod.py", "src/main.py"]),
            ("src/**/*.py", ".", ["src/deep/er/mod.py", "src/main.py"]),
            ("**/er/*", ".", ["src/deep/er/mod.py"]),
            ("**/**/mod.py", ".", ["src/deep/er/mod.py"]),
            ("*.py", "src", ["src/main.py"]),
            ("./src/./ma?n.py", ".", ["src/main.py"]),
            ("src/[l-n]ain.py", ".", ["src/main.py"]),
            ("src/[!m]ain.py", ".", []),
            ("src/deep/**", ".", ["src/deep/data.bin", "src/deep/er", "src/deep/er/mod.py"]),
            ("SRC/*", ".", []),
            ("src", ".", ["src"]),
            (".", ".", []),
        ):
            assert [entry.path for entry in fs.glob(pattern, path)] == expected, (pattern, path)

    def test_glob_refuses_invalid_patterns(self, fs):
        for pattern in ("", "x" * 1001, "a\0"):
            with pytest.raises(FilesystemError, match="Invalid pattern"):
                fs.glob(pattern)
        for pattern in ("../*", "src/../../*", "**/../x"):
            with pytest.raises(FileDeniedError) as error:
                fs.glob(pattern)
            assert tell(error) == f"Permission denied: {pattern}"

    def test_hostile_glob_is_matched_in_bounded_time(self, make):
        fs = make({"a" * 250: ""})
        assert fs.glob("*a" * 200 + "b") == []
        assert fs.glob("**/" * 300 + "b") == []

    def test_grep_finds_lines_by_file_and_number(self, fs):
        assert fs.grep("hel+o") == [
            GrepHit(".hidden/rc", 1, "hello there"),
            GrepHit("src/main.py", 2, "print('hello')"),
        ]

    def test_grep_narrows_by_path_and_glob(self, fs):
        assert [hit.path for hit in fs.grep("=|import", "src", glob="*.py")] == [
            "src/deep/er/mod.py",
            "src/main.py",
        ]
        assert [hit.path for hit in fs.grep(".", glob="src/*.py", max_hits=1)] == ["src/main.py"]
        assert fs.grep("import", "src/main.py") == [GrepHit("src/main.py", 1, "import os")]
        assert fs.grep("hello", max_hits=0) == []

    def test_grep_skips_binary_and_large_files(self, make):
        fs = make(
            {"bin": b"hello\x00", "latin": b"hello \xff", "big": "hello" * 9, "ok": "hello"},
            max_file_bytes=40,
        )
        assert fs.grep("hello") == [GrepHit("ok", 1, "hello")]

    def test_grep_splits_lines_only_at_line_ends(self, make):
        fs = make({"a": "one\r\ntwo\x0bx\n\nend"})
        assert fs.grep("^(one|two.x|end|)$") == [
            GrepHit("a", 1, "one"),
            GrepHit("a", 2, "two\x0bx"),
            GrepHit("a", 3, ""),
            GrepHit("a", 4, "end"),
        ]

    def test_grep_shortens_long_lines(self, make):
        fs = make({"a": "x" * 9_000 + "needle", "b": "x" * 10_000 + "needle"})
        (hit,) = fs.grep("needle")
        assert hit == GrepHit("a", 1, "x" * 500 + "...")

    def test_grep_refuses_patterns_that_it_cannot_bound(self, fs):
        for pattern, reason in (
            ("(", "unclosed group"),
            (r"(?=a)b", "look-ahead, look-behind and back-references are not available here"),
            (r"(a)\1", "look-ahead, look-behind and back-references are not available here"),
            ("a" * 1001, "it is too long"),
            ("(?:.{0,100}){50}y", "repetitions add up to more than 1,000"),
            (r"\w{900}", "it is too large"),
            ("(?x) a b", "verbose mode"),
        ):
            message = refusal(FilesystemError, fs.grep, pattern)
            assert "Invalid pattern" in message, pattern
            assert reason in message, pattern

    def test_hostile_regex_is_matched_in_bounded_time(self, make):
        fs = make({"a": "a" * 9_999 + "\n" + "a" * 9_999})
        for pattern in (r"(a+)+$b", r"(a|aa)+b", r"(.*)*x", "(?:.{0,30}){30}y"):
            assert fs.grep(pattern) == []

    def test_grep_reads_a_limited_amount_of_text(self, make):
        fs = make({f"{number:02}": "x" * 100 for number in range(30)}, max_file_bytes=100)
        with pytest.raises(FilesystemError, match=r"Too much to search: \. has more than 2,500 bytes"):
            fs.grep("y")
