"""The file tools pass the conformance kit of filesystems, in memory and on the host, forked and not."""

import pytest

from tests.resources import test_filesystems as kinds
from tests.resources.reading_kit import SearchKit
from tests.toolbox.files.tool_filesystem import ToolFilesystem


class ThroughTools:
    """Puts the tools between the kit and what a kind of filesystem makes."""

    is_fork = False

    @pytest.fixture
    def make(self, unforked):
        forks = []

        def made(files, **options):
            fs = unforked(files, **options)
            if self.is_fork:
                fs = fs.fork()
                forks.append(fs)
            return ToolFilesystem(fs)

        yield made
        for fork in forks:
            fork.discard()

    # The tools read more encodings than one and cut what is long, which their own tests are about; a path that is no
    # text is refused with the arguments.
    test_text_that_is_not_utf_8_is_refused_with_its_place = None
    test_a_file_over_the_limit_is_read_in_pages_only = None
    test_a_path_that_is_not_text_is_refused = None
    # there is no tool that searches
    locals().update({name: None for name in vars(SearchKit) if name.startswith("test_")})


class TestToolsOnMemory(ThroughTools, kinds.TestMemory):
    pass


class TestToolsOnHost(ThroughTools, kinds.TestHost):
    pass


class TestToolsOnForkOfMemory(ThroughTools, kinds.TestForkOfMemory):
    is_fork = True


class TestToolsOnForkOfHost(ThroughTools, kinds.TestForkOfHost):
    is_fork = True
