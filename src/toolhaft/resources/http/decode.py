"""Collects a body, unpacked where it is compressed, and never more of it than the limit allows.

Does not know where the bytes come from.
"""

from __future__ import annotations

import zlib
from typing import Final, Literal

from toolhaft.errors import HttpError, HttpTooLargeError

Coding = Literal["identity", "gzip", "deflate"]

ACCEPTED: Final = "gzip, deflate"
_CODINGS: Final[dict[str, Coding]] = {
    "": "identity",
    "identity": "identity",
    "gzip": "gzip",
    "x-gzip": "gzip",
    "deflate": "deflate",
}
_PIECE: Final = 64 * 1024
_MARK_BYTES: Final = 2
_GZIP_MARK: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_BARE: Final = -zlib.MAX_WBITS


def coding_of(header: str) -> Coding:
    """How a body is packed, by its Content-Encoding.

    Raises:
        HttpError: for what was not asked for, and for packings inside each other.
    """
    coding = _CODINGS.get(header.strip().lower())
    if coding is None:
        raise HttpError(
            f"the answer is packed as {header[:40]!a}, which was not asked for; only {ACCEPTED} can be read"
        )
    return coding


def too_large(most: int) -> HttpTooLargeError:
    """A body of more bytes than the limit."""
    return HttpTooLargeError(f"the answer is too large: at most {most:,} bytes are read")


class Body:
    """The bytes of an answer, as they come in.

    Several gzip members in a row are one body; whatever else follows the end is passed over, as by browsers.

    Args:
        coding: how they are packed.
        most: bytes, unpacked.
    """

    __slots__ = ("_coding", "_has_ended", "_held", "_is_over", "_most", "_parts", "_size", "_unpacker")

    def __init__(self, coding: Coding, most: int) -> None:
        self._coding: Coding = coding
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._held = b""
        self._unpacker: zlib._Decompress | None = None  # pyright: ignore[reportPrivateUsage] -- zlib has no other name for it
        self._has_ended = False
        self._is_over = False

    def add(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            HttpTooLargeError: where that is more than the limit.
            HttpError: where they cannot be unpacked.
        """
        if self._coding == "identity":
            self._keep(data)
            return
        try:
            self._unpack(data)
        except zlib.error as error:
            raise HttpError(f"the answer cannot be unpacked as {self._coding}, as it says it is") from error

    def whole(self) -> bytes:
        """All of it.

        Raises:
            HttpError: where what is packed ends in the middle.
        """
        if self._unpacker is not None or (self._held and not self._has_ended):
            raise HttpError(f"the answer breaks off in the middle of what is packed as {self._coding}")
        return b"".join(self._parts)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._most:
            self._parts.clear()
            raise too_large(self._most)
        if data:
            self._parts.append(data)

    def _unpack(self, data: bytes) -> None:
        while data and not self._is_over:
            if self._unpacker is None:
                data = self._begin(self._held + data)
            if self._unpacker is not None:
                data = self._drain(self._unpacker, data)

    def _begin(self, data: bytes) -> bytes:
        """Start on a member once its first bytes tell what it is; gives back what to unpack."""
        if len(data) < _MARK_BYTES:
            self._held = data
            return b""
        self._held = b""
        if self._has_ended and (self._coding != "gzip" or not data.startswith(_GZIP_MARK)):
            self._is_over = True
            return b""
        wbits = _GZIP if self._coding == "gzip" else _deflate_wbits(data)
        self._unpacker = zlib.decompressobj(wbits)
        return data

    def _drain(self, unpacker: zlib._Decompress, data: bytes) -> bytes:  # pyright: ignore[reportPrivateUsage] -- as above
        """Unpack all of it, a bounded piece at a time; gives back what follows the end."""
        while True:
            piece = unpacker.decompress(data, _PIECE)
            self._keep(piece)
            data = unpacker.unconsumed_tail
            # a full piece may leave more behind in the unpacker, with no input left to show for it
            if unpacker.eof or not (data or len(piece) == _PIECE):
                break
        if not unpacker.eof:
            return b""
        self._has_ended = True
        self._unpacker = None
        return unpacker.unused_data


def _deflate_wbits(data: bytes) -> int:
    """With zlib's wrapping, as the standard has it, or bare, as some servers do."""
    is_wrapped = data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
    return _ZLIB if is_wrapped else _BARE
