"""The parts of a result that are not plain text: images, audio, video, documents."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, cast
from urllib.parse import unquote, unquote_to_bytes

from toolhaft.errors import WireError
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.problems import show

_UNKNOWN = "application/octet-stream"
_BASE64 = ";base64"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Media:
    """Bytes or a URL, and their media type.

    A `data:` URL contains the bytes: it is decoded immediately, and its media type overrides the given one.

    Raises:
        ValueError: if both or none are given, one has the wrong type, or a `data:` URL cannot be decoded.
    """

    data: bytes | None = None
    url: str | None = None
    media_type: str

    def __post_init__(self) -> None:
        name = type(self).__name__
        if (self.data is None) == (self.url is None):
            has = "neither data nor url" if self.data is None else "both data and url"
            raise ValueError(f"{name} has {has}; give one of them")
        for field, kind in self._FIELDS.items():
            given = cast("object", getattr(self, field))
            if given is not None and not isinstance(given, kind):
                raise ValueError(f"{name} takes {field} as {kind.__name__}, not {type(given).__name__}")
        if self.url is not None and _is_data_url(self.url):
            data, media_type = _read_data_url(self.url)
            object.__setattr__(self, "data", data)
            object.__setattr__(self, "url", None)
            object.__setattr__(self, "media_type", media_type or self.media_type)

    _FIELDS: ClassVar[Mapping[str, type]] = {"data": bytes, "url": str, "media_type": str}

    @property
    def base64(self) -> str:
        """The bytes as Base64.

        Raises:
            ValueError: if there is only a URL.
        """
        if self.data is None:
            raise ValueError(f"there are no bytes here, only the URL {self.url!r:.200}")
        return b64encode(self.data).decode("ascii")

    def __repr__(self) -> str:
        # never the bytes: they may be megabytes
        what = f"url={self.url!r:.200}" if self.data is None else f"data=<{len(self.data)} bytes>"
        return f"{type(self).__name__}({what}, media_type={self.media_type!r})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Image(_Media):
    """An image."""

    kind: ClassVar[Literal["image"]] = "image"
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audio(_Media):
    """Audio."""

    kind: ClassVar[Literal["audio"]] = "audio"
    media_type: str = "audio/wav"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Video(_Media):
    """A video."""

    kind: ClassVar[Literal["video"]] = "video"
    media_type: str = "video/mp4"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Document(_Media):
    """A file; for text, `Document(data=text.encode(), media_type="text/plain")`."""

    kind: ClassVar[Literal["document"]] = "document"
    media_type: str = "application/pdf"
    name: str = ""

    @property
    def text(self) -> str | None:
        """The text of a text document; None for other types, and if there is only a URL."""
        if self.data is None or not self.media_type.startswith("text/"):
            return None
        return self.data.decode(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text between other parts."""

    kind: ClassVar[Literal["text"]] = "text"
    text: str


Part: TypeAlias = Text | Image | Audio | Video | Document
PART_TYPES = (Text, Image, Audio, Video, Document)
_KINDS: Mapping[str, type[Image | Audio | Video]] = {"image": Image, "audio": Audio, "video": Video}


def returned_parts(value: object) -> tuple[str | Part, ...] | None:
    """The parts that a handler returned: one, or a list or tuple with some; None for any other value.

    Other items of such a list are texts: as they are, or as JSON.
    """
    if isinstance(value, PART_TYPES):
        return (value,)
    if value.__class__ is not list and value.__class__ is not tuple:
        return None
    items = cast("list[object]", value)
    types = set(map(type, items))  # few, also of a long list
    if not any(issubclass(cls, PART_TYPES) for cls in types):
        return None
    return tuple(item if isinstance(item, (str, *PART_TYPES)) else to_json_text(item) for item in items)


def split_parts(parts: Iterable[str | Part]) -> tuple[str, tuple[Part, ...]]:
    """The texts among the parts as one text, and the other parts."""
    texts: list[str] = []
    media: list[Part] = []
    for part in parts:
        if isinstance(part, str | Text):
            texts.append(part if isinstance(part, str) else part.text)
        else:
            media.append(part)
    return "\n\n".join(texts), tuple(media)


def name_parts(parts: Iterable[object]) -> str:
    """What a text can say about parts: a text itself, the kind and media type of any other."""
    read = map(read_part, parts)
    return "\n\n".join(
        part.text if isinstance(part, Text) else f"[{part.kind}: {part.media_type}]" for part in read
    )


def read_part(value: object) -> Part:
    """Read one part of a result's content: a part, text, or a content block of MCP.

    Raises:
        WireError: for anything else.
    """
    if isinstance(value, Text | Image | Audio | Video | Document):
        return value
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, Mapping):
        raise WireError(
            f"got {type(value).__name__}",
            path="content",
            expected="an Image, Audio, Video, Document, text, or a mapping with 'type'",
        )
    part = cast("Mapping[str, object]", value)
    match part.get("type"):
        case "text":
            return Text(text=_text(part, "text"))
        case ("image" | "audio" | "video") as kind:
            return _KINDS[cast("str", kind)](data=_bytes(part, "data"), media_type=_text(part, "mimeType"))
        case "resource":
            return _read_resource(part.get("resource"))
        case "resource_link":
            name = part.get("name")
            return _of_type(part, url=_text(part, "uri"), name=name if isinstance(name, str) else "")
        case other:
            raise WireError(
                f"got {show(other)}",
                path="content.type",
                expected="'text', 'image', 'audio', 'video', 'resource' or 'resource_link'",
            )


def _read_resource(value: object) -> Part:
    if not isinstance(value, Mapping):
        raise WireError(
            f"got {show(value)}",
            path="content.resource",
            expected="a mapping with 'uri' and 'text' or 'blob'",
        )
    resource = cast("Mapping[str, object]", value)
    uri = resource.get("uri")
    name = unquote(uri.rstrip("/").rpartition("/")[2]) if isinstance(uri, str) else ""
    if "text" in resource:
        return Document(
            data=_text(resource, "text", "content.resource").encode(errors="replace"),
            media_type=_media_type(resource) or "text/plain",
            name=name,
        )
    return _of_type(resource, data=_bytes(resource, "blob", "content.resource"), name=name)


def _of_type(
    part: Mapping[str, object], *, name: str, data: bytes | None = None, url: str | None = None
) -> Part:
    """The part for this media type; a document by default."""
    media_type = _media_type(part) or _UNKNOWN
    if url is not None and _is_data_url(url):
        try:
            data, inside = _read_data_url(url)
        except ValueError as error:
            raise WireError(f"got {show(url)}", path="content.uri", expected="a URL") from error
        url, media_type = None, inside or media_type
    kind = _KINDS.get(media_type.partition("/")[0])
    if kind is not None:
        return kind(data=data, url=url, media_type=media_type)
    return Document(data=data, url=url, media_type=media_type, name=name)


def _is_data_url(url: str) -> bool:
    return url[:5].lower() == "data:"


def _read_data_url(url: str) -> tuple[bytes, str]:
    """The bytes in a `data:` URL and their media type without parameters, '' if it has none.

    Raises:
        ValueError: if it is not a `data:` URL, or its Base64 is not valid.
    """
    head, comma, body = url[5:].partition(",")
    if not comma:
        raise ValueError(f"the URL {url!r:.80} has no data: there is no comma")
    media_type = head.partition(";")[0].strip().lower()
    if not head.lower().rstrip().endswith(_BASE64):
        return unquote_to_bytes(body), media_type
    written = "".join(unquote(body).split())
    try:
        data = b64decode(written + "=" * (-len(written) % 4), validate=True)
    except ValueError as error:
        raise ValueError(f"the URL {url!r:.80} does not hold Base64") from error
    return data, media_type


def _media_type(part: Mapping[str, object]) -> str | None:
    return None if part.get("mimeType") is None else _text(part, "mimeType")


def _text(part: Mapping[str, object], key: str, path: str = "content") -> str:
    found = part.get(key)
    if not isinstance(found, str):
        raise WireError(f"got {show(found)}", path=f"{path}.{key}", expected="text")
    return found


def _bytes(part: Mapping[str, object], key: str, path: str = "content") -> bytes:
    written = _text(part, key, path)
    try:
        return b64decode(written, validate=True)
    except (binascii.Error, ValueError) as error:
        raise WireError(f"got {show(written)}", path=f"{path}.{key}", expected="Base64") from error
