"""What both halves of the kit begin with."""

import pytest

TREE = {
    "readme.md": "# Notes\nsecond line\n",
    "src/main.py": "import os\nprint('hello')\n",
    "src/deep/er/mod.py": "x = 1\n",
    "src/deep/data.bin": b"\x00\x01\x02hello",
    ".hidden/rc": "hello there\n",
}


def tell(error):
    return str(error.value)


class Kit:
    """`make(files, **options)` is a fixture that each kind gives."""

    @pytest.fixture
    def fs(self, make):
        return make(TREE)


def tree_of(fs):
    """Every file and directory, whole."""
    return {
        entry.path: fs.read_bytes(entry.path) if entry.kind == "file" else None
        for entry in fs.list(recursive=True)
    }
