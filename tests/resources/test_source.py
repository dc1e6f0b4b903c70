"""Texts of the host of any size, decoded where they were read, beside each other and while they grow."""

import threading

import pytest

from toolhaft.errors import FileKindError
from toolhaft.resources import FileText, HostFilesystem, source
from toolhaft.resources.system import System


@pytest.fixture
def root(quick_path):
    return quick_path


@pytest.fixture
def fs(root):
    return HostFilesystem(root, durable=False)


@pytest.mark.parametrize("size", [128 * 1024, 300_000, 2_000_000, 2 * 1024 * 1024, 3_000_000])
def test_a_text_of_any_size_is_read_as_it_is(fs, root, size):
    text = ("grün\r\n" * size)[: size - 20]
    (root / "long.txt").write_bytes(text.encode())
    assert fs.read("long.txt") == FileText(text, len(text.encode()), None)
    assert fs.read("long.txt", offset=size - 30, limit=5) == (text[-10:-5], len(text.encode()), size - 25)
    (root / "long.txt").write_bytes(text.encode() + b"\xff")
    with pytest.raises(FileKindError, match=f"byte {len(text.encode())} is not UTF-8"):
        fs.read("long.txt")


def test_texts_are_read_beside_each_other(fs, root):
    """The room in which one is decoded is another's only when that is done."""
    texts = [letter * 500_000 for letter in "abc"]
    for text in texts:
        (root / text[0]).write_text(text)
    wrong = []

    def read(text):
        wrong.extend(1 for _ in range(30) if fs.read(text[0]).content != text)

    threads = [threading.Thread(target=read, args=(text,)) for text in texts * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    source._rooms.clear()  # noqa: SLF001 -- as if all were in use
    assert fs.read("a").content == texts[0]


def test_a_system_that_reads_into_no_room_of_ours_reads_all_the_same(root):
    class Plain(System):
        preadv = None

    (root / "long").write_text("x" * 200_000)
    assert HostFilesystem(root, system=Plain()).read("long").content == "x" * 200_000


def test_a_text_that_grows_while_it_is_read_is_read_to_its_end(root):
    class Growing(System):
        def preadv(self, handle, buffers, offset, flags):
            with (root / "log").open("a") as file:
                file.write("more")
            return super().preadv(handle, buffers, offset, flags)

    (root / "log").write_text("x" * 200_000)
    text = HostFilesystem(root, system=Growing()).read("log")
    assert text == FileText("x" * 200_000 + "more", 200_004, None)
