"""The ports of the core that this room implements, under its own roof.

Knows none of their implementations.
"""

from toolhaft.core.ports import Clock, FileList, FileStat, Filesystem, FileText, GrepHit

__all__ = ["Clock", "FileList", "FileStat", "FileText", "Filesystem", "GrepHit"]
