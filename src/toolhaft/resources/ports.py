"""The interfaces of `core.ports` that this package implements."""

from toolhaft.core.ports import Clock, FileList, FileStat, Filesystem, FileText, GrepHit

__all__ = ["Clock", "FileList", "FileStat", "FileText", "Filesystem", "GrepHit"]
