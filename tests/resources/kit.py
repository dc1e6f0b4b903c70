"""The files and helpers that both halves of the conformance kit share."""

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


def refusal(kind, function, *args, **options):
    """The message of the error that a call must raise; without one, the test fails and names the arguments."""
    try:
        function(*args, **options)
    except kind as error:
        return str(error)
    pytest.fail(f"no {kind.__name__} from {function.__name__} with {args!r:.300}, {options}")


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
