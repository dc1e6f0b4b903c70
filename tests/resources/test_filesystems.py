"""Both kinds of filesystem, and forks of them, pass one conformance kit."""

import pytest

from tests.resources.filesystem_kit import FilesystemKit
from toolhaft.resources import HostFilesystem, MemoryFilesystem
from toolhaft.resources.system import System


def fill(root, files):
    """Files on the host, written by somebody else."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


class TestMemory(FilesystemKit):
    @pytest.fixture
    def unforked(self):
        def made(files, *, max_file_bytes=10**7, **options):
            # what a file may have is checked when it is given, too
            fs = MemoryFilesystem(files, **options)
            fs._limits = type(fs._limits)(  # noqa: SLF001 -- the files of some tests are over the limit
                max_file_bytes=max_file_bytes, max_entries=options.get("max_entries", 10_000)
            )
            return fs

        return made

    @pytest.fixture
    def make(self, unforked):
        return unforked

    @pytest.fixture
    def absolute(self):
        return lambda path: f"/{path}"


class TestHost(FilesystemKit):
    options = {"durable": False}  # noqa: RUF012 -- a test's constant

    @pytest.fixture
    def unforked(self, quick_path):
        def made(files, **options):
            root = quick_path / "root"
            fill(root, files)
            return HostFilesystem(root, **self.options, **options)

        root = quick_path / "root"
        root.mkdir()
        yield made
        assert not (root / ".toolhaft").exists(), "no journal is left over"

    @pytest.fixture
    def make(self, unforked):
        return unforked

    @pytest.fixture
    def absolute(self, quick_path):
        return lambda path: f"{quick_path}/root/{path}"


class TestHostOnDisk(TestHost):
    @pytest.fixture
    def quick_path(self, tmp_path):
        return tmp_path


class TestHostWithoutOpenat2(TestHost):
    options = {"system": System(openat2=False), "durable": False}  # noqa: RUF012 -- a test's constant


class TestForkOfMemory(TestMemory):
    @pytest.fixture
    def make(self, unforked):
        return lambda files, **options: unforked(files, **options).fork()

    test_commit_and_discard_outside_a_fork_do_nothing = None


class TestForkOfHost(TestHost):
    options = {}  # noqa: RUF012 -- a test's constant

    @pytest.fixture
    def make(self, unforked):
        forks = []

        def made(files, **options):
            forks.append(unforked(files, **options).fork())
            return forks[-1]

        yield made
        for fork in forks:
            fork.discard()

    test_commit_and_discard_outside_a_fork_do_nothing = None
