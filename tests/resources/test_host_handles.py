"""Files of the host of any size, also while they grow."""

import pytest

from toolhaft.errors import FileKindError
from toolhaft.resources import FileText, HostFilesystem
from toolhaft.resources.system import System


def test_a_text_of_any_size_is_read_exactly(quick_path):
    fs = HostFilesystem(quick_path, durable=False)
    file = quick_path / "long.txt"
    for size in (128 * 1024, 1024 * 1024, 2_000_000, 3_000_000):
        text = ("grün\r\n" * size)[: size - 20]
        data = text.encode()
        file.write_bytes(data)
        assert fs.read("long.txt") == FileText(text, len(data), None), size
        assert fs.read("long.txt", offset=size - 30, limit=5) == (text[-10:-5], len(data), size - 25), size
        file.write_bytes(data + b"\xff")
        with pytest.raises(FileKindError, match=f"byte {len(data)} is not UTF-8"):
            fs.read("long.txt")


def test_text_that_grows_while_it_is_read_is_read_completely(quick_path):
    class Growing(System):
        has_grown = False

        def pread(self, handle, count, offset):
            if not self.has_grown:
                self.has_grown = True
                with (quick_path / "log").open("a") as file:
                    file.write("more" * 300_000)  # more than one chunk
            return super().pread(handle, count, offset)

    (quick_path / "log").write_text("x" * 200_000)
    text = HostFilesystem(quick_path, system=Growing()).read("log")
    assert text == FileText("x" * 200_000 + "more" * 300_000, 1_400_000, None)
