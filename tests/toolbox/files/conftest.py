"""A fast temporary directory for the tests of file tools."""

from tests.resources.conftest import quick_path

__all__ = ["quick_path"]
