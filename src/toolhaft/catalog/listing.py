"""The entry of one tool in a list: enough to find it without loading it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, cast

from toolhaft.define.running.activation import is_active

TYPE_CHECKING = False  # a listing from a cache must not load the tools' packages
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject

SourceName = Literal["project", "built-in", "installed", "platform", "given"]
Share = Literal["private", "org", "public"]
SHARES: Final = ("private", "org", "public")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One tool in a list."""

    id: str
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    """The owner; the distribution of an installed tool; empty if unknown."""
    share: Share = "private"
    store: SourceName = "given"
    """The source that has the tool."""
    place: str = ""
    """The file, relative to the project; or the distribution; or the platform's address."""
    is_active: bool = True
    """False if nothing runs the tool, or it is switched off, so that a call fails."""
    effect: str = "irreversible"
    updated_at: str | None = None
    shadows: tuple[str, ...] = ()
    """Tools with the same id in later sources, as 'source (place)'."""
    search_text: str = field(default="", repr=False)
    """More text for search: parameter names, their descriptions, when to use the tool."""
    forwards_to: str = field(default="", repr=False)
    """For a file without `run`: the id of the tool at its endpoint, if that is at the default address."""
    digest: str = field(default="", repr=False)
    """Digest of all fields of its YAML document; empty if it was not computed."""

    @property
    def name(self) -> str:
        """The id, which is the tool's name."""
        return self.id

    def to_json(self) -> JSONObject:
        """The listing with the field names of the YAML files."""
        return {
            "id": self.id,
            "name": self.title or self.id,
            "description": self.description,
            "owner": self.owner or None,
            "share": self.share,
            "tags": [*self.tags],
            "is_active": self.is_active,
            "updated_at": self.updated_at,
            "store": self.store,
            "place": self.place,
            "effect": self.effect,
            "shadows": [*self.shadows],
        }

    def shadowing(self, hidden: tuple[str, ...]) -> Listing:
        """The same listing with the tools that it hides."""
        return replace(self, shadows=hidden) if hidden else self

    def has(self, *, tag: str | None = None, owner: str | None = None, share: str | None = None) -> bool:
        """True if the listing matches every filter that is not None."""
        return (
            (tag is None or tag.casefold() in (own.casefold() for own in self.tags))
            and (owner is None or self.owner == owner)
            and (share is None or self.share == share)
        )

    def to_row(self) -> dict[str, object]:
        """All fields but `shadows`, for a cache."""
        row: dict[str, object] = {name: getattr(self, name) for name in _ROW}
        row["tags"] = [*self.tags]
        return row

    @classmethod
    def from_row(cls, row: object) -> Listing:
        """The listing in a cache row.

        Raises:
            ValueError: if the row holds no listing.
        """
        if not isinstance(row, dict) or row.keys() != _ROW.keys():
            raise ValueError("no listing")
        values = dict(cast("dict[str, Any]", row))
        tags: object = values["tags"]
        values["tags"] = tuple(cast("list[object]", tags)) if isinstance(tags, list) else None
        if any(not isinstance(values[name], kind) for name, kind in _ROW.items()):
            raise ValueError("no listing")
        return cls(**values)


_ROW: Final[Mapping[str, Any]] = {
    **{own.name: str for own in fields(Listing) if own.name != "shadows"},
    "tags": tuple,
    "is_active": bool,
    "updated_at": str | None,
}


def listing_of(tool: AnyTool, *, store: SourceName, place: str = "", owner: str = "") -> Listing:
    """The listing of a loaded tool."""
    return Listing(
        id=tool.name,
        title=tool.title or tool.name,
        description=tool.description,
        tags=tuple(tool.tags),
        owner=getattr(tool, "owner", None) or owner,
        share=getattr(tool, "share", "private" if store == "given" else "public"),
        store=store,
        place=place,
        is_active=tool.is_active,
        effect=str(tool.effect),
        updated_at=getattr(tool, "updated_at", None),
        search_text=_search_text(tool.input_schema, tool.when_to_use),
    )


def listing_of_fields(
    fields: Mapping[str, object], *, store: Literal["platform", "project"] = "platform", place: str = ""
) -> Listing:
    """The listing of a tool, from the fields of its document; a wrong value is left out."""
    tags, metadata, share = fields.get("tags"), fields.get("metadata"), fields.get("share")
    if "tags" not in fields and isinstance(metadata, Mapping):
        tags = cast("Mapping[str, object]", metadata).get("tags")
    id = _text(fields, "id")
    return Listing(
        id=id,
        title=_text(fields, "name") or id,
        description=_text(fields, "description"),
        tags=tuple(tag for tag in cast("list[object]", tags) if isinstance(tag, str))
        if isinstance(tags, list)
        else (),
        owner=_text(fields, "owner"),
        share=share if share in SHARES else "private",
        store=store,
        place=place,
        is_active=is_active(fields),
        effect=_text(fields, "effect") or "irreversible",
        updated_at=_text(fields, "updated_at") or None,
        search_text=_search_text_of_fields(fields),
    )


def _text(fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _search_text_of_fields(fields: Mapping[str, object]) -> str:
    parameters = fields.get("parameters")
    listed = cast("list[object]", parameters) if isinstance(parameters, list) else []
    schemas = [cast("dict[str, object]", one) for one in listed if isinstance(one, dict)]
    return _search_text(
        {"properties": {_text(one, "name"): one for one in schemas}}, _text(fields, "when_to_use")
    )


def digest_fields(fields: Mapping[str, object]) -> str:
    """The digest of the fields of a YAML document.

    The endpoint is left out: the platform's own takes the place of the author's, and may change.
    """
    import json  # noqa: PLC0415 -- a list from a cache computes no digests
    from hashlib import sha256  # noqa: PLC0415 -- the same

    # with the defaults that a platform may or may not list
    digested: dict[str, object] = {"share": "private", "tags": [], **fields, "is_active": is_active(fields)}
    digested.pop("endpoint", None)
    return sha256(json.dumps(digested, sort_keys=True, default=str).encode(errors="replace")).hexdigest()


_MAX_SCHEMAS: Final = 300
_MAX_CHOICES: Final = 100
_MAX_CHOICE: Final = 60
_NAMED: Final = frozenset(("properties", "$defs", "definitions", "patternProperties", "dependentSchemas"))
_NESTED: Final = frozenset((
    "items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties", "then", "else",
))  # fmt: skip


def _search_text(input_schema: Mapping[str, object], when_to_use: str | None) -> str:
    """When to use the tool; the names, descriptions and fixed values of its parameters, nested ones too."""
    texts = [when_to_use or ""]
    waiting: list[tuple[str, object]] = [("", input_schema)]
    for name, schema in waiting:  # grows, level by level: of a huge schema the inner parts are left out
        texts.append(name)
        if isinstance(schema, Mapping):
            own = cast("Mapping[str, object]", schema)
            texts += (_text(own, "description"), *_choices(own))
            inner = list(_inner_schemas(own))
            waiting += inner[: _MAX_SCHEMAS - len(waiting)]
    return " ".join(filter(None, texts))


def _choices(schema: Mapping[str, object]) -> Iterator[str]:
    choices = schema.get("enum")
    listed = cast("list[object]", choices)[:_MAX_CHOICES] if isinstance(choices, list) else []
    for value in (*listed, schema.get("const")):
        if isinstance(value, str):
            yield value[:_MAX_CHOICE]


def _inner_schemas(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The schemas inside a schema, each with the name of its parameter if it has one."""
    for keyword, inner in schema.items():
        if keyword in _NAMED and isinstance(inner, Mapping):
            for name, own in cast("Mapping[str, object]", inner).items():
                yield name if keyword == "properties" else "", own
        elif keyword in _NESTED:
            listed = cast("list[object]", inner) if isinstance(inner, list) else [inner]
            yield from (("", own) for own in listed)
