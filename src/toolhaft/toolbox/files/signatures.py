"""Recognises binary files by their first bytes."""

from __future__ import annotations

from typing import Final

_CERTAIN: Final[tuple[tuple[bytes, str], ...]] = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document that is one, such as .docx, .xlsx or .jar"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 data file"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\xca\xfe\xba\xbe", "a Java class or a macOS program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x00asm", "a WebAssembly module"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
"""No text begins like this."""
_LIKELY: Final[tuple[tuple[bytes, str], ...]] = (
    (b"BM", "a bitmap image"),
    (b"BZh", "a bzip2 archive"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"ID3", "an MP3 recording"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"MZ", "a Windows program"),
    (b"OggS", "an Ogg recording"),
    (b"PAR1", "a Parquet table"),
    (b"RIFF", "a recording, video or image (RIFF)"),
    (b"fLaC", "a FLAC recording"),
    (b"\x00\x00\x01\x00", "an icon"),
)
"""A text may begin like this too."""
_MEDIA: Final = b"ftyp"
_ARCHIVE: Final = b"ustar"
_ARCHIVE_AT: Final = 257
BINARY: Final = "binary data"
"""For a file of an unknown kind."""


def certain_kind(head: bytes) -> str | None:
    """The kind of file, if no text begins like this; else None."""
    if head[:1].isalpha() and head[:1] not in (b"P", b"R", b"S"):  # nearly every text
        return None
    return _named(head, _CERTAIN)


def likely_kind(head: bytes) -> str:
    """The most likely kind of a file that is known not to be text."""
    if head[4:8] == _MEDIA:
        return "a video or an image (MP4, HEIC)"
    if head.startswith(_ARCHIVE, _ARCHIVE_AT):
        return "a tar archive"
    return _named(head, _CERTAIN) or _named(head, _LIKELY) or BINARY


def _named(head: bytes, known: tuple[tuple[bytes, str], ...]) -> str | None:
    return next((kind for beginning, kind in known if head.startswith(beginning)), None)
