"""The ports of the core that this room implements, under its own roof.

Knows none of their implementations.
"""

from toolhaft.core.ports import Clock, FileStat, Filesystem, FileText, GrepHit

__all__ = ["Clock", "FileStat", "FileText", "Filesystem", "GrepHit"]
