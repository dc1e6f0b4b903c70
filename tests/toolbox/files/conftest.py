"""Where the tests of the file tools put their files."""

from tests.resources.conftest import quick_path

__all__ = ["quick_path"]
