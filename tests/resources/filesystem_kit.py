"""The conformance kit of filesystems: a test class derives from it and says how a filesystem is created.

Keeps the issue's "Filesystem ... in two kinds that pass one conformance kit".
"""

from tests.resources.changing_kit import ForkKit, WritingKit
from tests.resources.reading_kit import PathKit, ReadingKit, SearchKit


class FilesystemKit(ReadingKit, PathKit, SearchKit, WritingKit, ForkKit):
    """`make(files, **options)` and `absolute(path)` are fixtures that each kind gives."""
