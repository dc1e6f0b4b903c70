"""A fast temporary directory for the tests of filesystems."""

import shutil
import tempfile
from pathlib import Path

import pytest

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- a fresh directory below it


@pytest.fixture
def quick_path():
    """A fresh directory where waiting for the disk takes no time: other work on the machine may keep it busy."""
    folder = tempfile.mkdtemp(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None)
    yield Path(folder)
    shutil.rmtree(folder)
