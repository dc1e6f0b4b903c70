"""What a list of tools says of one tool: enough to find it, nothing that would have to be loaded.

Does not know where listings are kept; knows no tool but by what it says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, cast

from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # a listing from a cache must not load the tools' own room
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject

Store = Literal["project", "built-in", "installed", "platform", "given"]
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
    """Who owns it; the distribution where it is installed, empty where nobody said."""
    share: Share = "private"
    store: Store = "given"
    place: str = ""
    """The file, relative to the project, the distribution, or the platform's address."""
    is_active: bool = True
    """False where a call would only be told that there is nothing to run."""
    effect: str = "irreversible"
    updated_at: str | None = None
    shadows: tuple[str, ...] = ()
    """Tools of the same id in stores that come after, as 'store (place)'."""
    words: str = field(default="", repr=False)
    """What else search looks at: parameters, what they mean, when to use the tool."""
    digest: str = field(default="", repr=False)
    """Of all that its YAML says: two that say the same have the same. Empty where none was made."""

    @property
    def name(self) -> str:
        """The id, which is the tool's name."""
        return self.id

    def to_json(self) -> JSONObject:
        """The listing in the words of the YAML files."""
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
        """The same listing with what it hides."""
        return replace(self, shadows=hidden) if hidden else self

    def has(self, *, tag: str | None = None, owner: str | None = None, share: str | None = None) -> bool:
        """True if it has all that is asked for; None asks for nothing."""
        return (
            (tag is None or tag.casefold() in (own.casefold() for own in self.tags))
            and (owner is None or self.owner == owner)
            and (share is None or self.share == share)
        )

    def to_row(self) -> dict[str, object]:
        """Everything but what it hides, for a cache."""
        row: dict[str, object] = {name: getattr(self, name) for name in _ROW}
        row["tags"] = [*self.tags]
        return row

    @classmethod
    def from_row(cls, row: object) -> Listing:
        """The listing that a cache holds.

        Raises:
            ValueError: where it is none.
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


def listing_of(tool: AnyTool, *, store: Store, place: str = "", owner: str = "") -> Listing:
    """What a tool says of itself, as a listing."""
    return Listing(
        id=tool.name,
        title=tool.title or tool.name,
        description=tool.description,
        tags=tuple(tool.tags),
        owner=getattr(tool, "owner", None) or owner,
        share=getattr(tool, "share", "private" if store == "given" else "public"),
        store=store,
        place=place,
        is_active=tool.handler is not None,
        effect=str(tool.effect),
        updated_at=getattr(tool, "updated_at", None),
        words=words_of(tool.input_schema, tool.when_to_use),
    )


def digest_of(fields: Mapping[str, object]) -> str:
    """The digest of the fields of a YAML file.

    Where a platform runs a tool is left out: one platform may go by several addresses.
    """
    import json  # noqa: PLC0415 -- a list from a cache makes no digests
    from hashlib import sha256  # noqa: PLC0415 -- the same

    said = dict(fields)
    if str(said.get("endpoint", "")).endswith(f"/v3/tool/{said.get('id')}"):
        del said["endpoint"]
    return sha256(json.dumps(said, sort_keys=True, default=str).encode(errors="replace")).hexdigest()


def digest_of_file(tool: AnyTool) -> str:
    """The digest of a tool from a YAML file; empty where its fields cannot be said."""
    from toolhaft.define.yaml import tool_fields  # noqa: PLC0415 -- whoever has such a tool has loaded it

    try:
        return digest_of(tool_fields(tool))
    except DefinitionError:
        return ""


def words_of(input_schema: Mapping[str, object], when_to_use: object = None) -> str:
    """The names of parameters and what is said of them, in one text."""
    words = [when_to_use] if isinstance(when_to_use, str) else []
    properties = input_schema.get("properties")
    for name, own in cast("dict[str, object]", properties if isinstance(properties, dict) else {}).items():
        words.append(name)
        said = cast("dict[str, object]", own).get("description") if isinstance(own, dict) else None
        if isinstance(said, str):
            words.append(said)
    return " ".join(words)
