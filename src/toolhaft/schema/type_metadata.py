"""Reads the metadata of a type: bounds, descriptions and `Secret`, from `Annotated` or `Field`."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from pydantic import GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from toolhaft.errors import DefinitionError
from toolhaft.schema import patterns, strict_core
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import CoreSchema

NOTHING: Final = object()
"""No default: the parameter is required."""

_NUMBER: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_STRING: Final = {
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
}
_ARRAY: Final = {"min_length": "minItems", "max_length": "maxItems"}
_OBJECT: Final = {"min_length": "minProperties", "max_length": "maxProperties"}
_KEYWORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "int": _NUMBER,
    "float": _NUMBER,
    "str": _STRING,
    "list": _ARRAY,
    "dict": _OBJECT,
}
TEXT_CHANGES: Final = frozenset(("strip_whitespace", "to_lower", "to_upper"))
"""Rules of pydantic's StringConstraints that change a text; JSON Schema has no keywords for them."""
RULES: Final = frozenset((*_NUMBER, *_STRING, *TEXT_CHANGES))


class Secret:
    """`token: Annotated[str, Secret]` marks an argument that no event, error or log may show.

    In a raw JSON Schema, `"writeOnly": true` does the same. A value that the handler itself puts into its
    result is not masked, and neither is a secret of one or two characters in a message.
    """

    __slots__ = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JSONObject:
        return {**cast("JSONObject", handler(schema)), "writeOnly": True}


class TypeMetadata:
    """The metadata of one type; items that only pydantic understands are in `unknown`."""

    __slots__ = ("alias", "default", "factory", "keywords", "rules", "unknown")

    def __init__(self) -> None:
        self.rules: dict[str, object] = {}
        self.keywords: JSONObject = {}
        self.default: object = NOTHING
        self.factory: object = None
        self.alias: str | None = None
        self.unknown: list[object] = []


def read_metadata(items: Iterable[object], metadata: TypeMetadata | None = None) -> TypeMetadata:
    """Read the items of an `Annotated` or a `Field`."""
    metadata = metadata or TypeMetadata()
    text: str | None = None
    for item in items:
        if isinstance(item, str):
            if text is not None:
                raise _two_texts(text, item)
            text = metadata.keywords["description"] = item
        elif item is Secret or isinstance(item, Secret):
            metadata.keywords["writeOnly"] = True
        elif isinstance(item, FieldInfo):
            _read_field(item, metadata)
        elif hasattr(item, "__get_pydantic_core_schema__") or hasattr(item, "__get_pydantic_json_schema__"):
            metadata.unknown.append(item)
        elif not _read_rules(item, metadata):
            _read_other(item, metadata)
    return metadata


def _two_texts(first: str, second: str) -> DefinitionError:
    return DefinitionError(
        f"Annotated has two texts, {first!r:.80} and {second!r:.80}, and only one can be the description",
        fix="join them, or replace the text of an alias with Field(description=...)",
    )


def _read_other(item: object, metadata: TypeMetadata) -> None:
    documentation = getattr(item, "documentation", None)
    if isinstance(documentation, str):
        metadata.keywords["description"] = documentation
    elif type(item).__module__ == "annotated_types":  # a predicate, a time zone: pydantic knows what to do
        metadata.unknown.append(item)


def _read_rules(item: object, metadata: TypeMetadata) -> bool:
    """Return True if the item is a rule such as `Ge(1)`, `Len(1, 5)` or `Interval(...)`."""
    pairs = cast("Mapping[str, object]", getattr(item, "__dict__", None) or _slots(item))
    rules = {name: value for name, value in pairs.items() if value is not None and name != "strict"}
    if not rules:
        return "strict" in pairs
    if not rules.keys() <= RULES:
        if not rules.keys() & RULES and not type(item).__module__.startswith("pydantic."):
            return False
        metadata.unknown.append(item)  # it has options that only pydantic supports
        return True
    for name, value in rules.items():
        metadata.rules[name] = (
            patterns.plain_pattern(cast("re.Pattern[str]", value)) if isinstance(value, re.Pattern) else value
        )
    return True


def _slots(item: object) -> dict[str, object]:
    return {name: getattr(item, name) for name in RULES if not isinstance(item, type) and hasattr(item, name)}


def _read_field(field: FieldInfo, metadata: TypeMetadata) -> None:
    read_metadata(field.metadata, metadata)
    for keyword in ("title", "description", "examples"):
        value = getattr(field, keyword)
        if value is not None:
            metadata.keywords[keyword] = cast("JSONValue", value)
    extra = field.json_schema_extra
    if isinstance(extra, dict):
        metadata.keywords.update(cast("JSONObject", extra))
        if "format" in metadata.keywords:  # the only rule that pydantic's Field has no argument for
            metadata.rules["format"] = metadata.keywords.pop("format")
    if field.discriminator is not None:
        metadata.unknown.append(field)
    if field.default is not PydanticUndefined and field.default is not ...:
        metadata.default = cast("object", field.default)
    if field.default_factory is not None:
        metadata.factory = field.default_factory
    metadata.alias = _alias(field) or metadata.alias


def _alias(field: FieldInfo) -> str | None:
    alias = field.validation_alias or field.alias
    if alias is not None and not isinstance(alias, str):
        raise DefinitionError(f"the alias {alias!r:.80} is not one name", fix="give one alias as text")
    return alias


def read_mapping(mapping: Mapping[object, object]) -> TypeMetadata:
    """Read a dataclass field's `metadata={...}`: rules and keywords by name; other entries are ignored."""
    metadata = TypeMetadata()
    for name, value in mapping.items():
        if name in RULES:
            metadata.rules[cast("str", name)] = value
        elif name in ("description", "title", "examples"):
            metadata.keywords[cast("str", name)] = cast("JSONValue", value)
        elif name == "alias":
            metadata.alias = str(value)
    return metadata


def narrow(
    core: CoreSchema, json: JSONObject, rules: Mapping[str, object]
) -> tuple[CoreSchema, JSONObject] | None:
    """Add the rules to both schemas; None if a rule does not apply to the type."""
    node = cast("dict[str, object]", core)
    if node["type"] == "nullable":
        inside = narrow(cast("CoreSchema", node["schema"]), cast("list[JSONObject]", json["anyOf"])[0], rules)
        if inside is None or len(cast("list[JSONObject]", json["anyOf"])) != 2:  # noqa: PLR2004 -- the type and null
            return None
        return strict_core.core(type="nullable", schema=inside[0]), {
            **json,
            "anyOf": [inside[1], {"type": "null"}],
        }
    if node["type"] == "function-after" and cast("dict[str, object]", node["schema"])["type"] in (
        "list",
        "dict",
    ):
        inside = narrow(cast("CoreSchema", node["schema"]), json, rules)
        return None if inside is None else (cast("CoreSchema", {**node, "schema": inside[0]}), inside[1])
    keywords = _KEYWORDS.get(cast("str", node["type"]), {})
    if any(name not in keywords and not (name in TEXT_CHANGES and keywords is _STRING) for name in rules):
        return None
    checked = {**node, **rules}
    named = checked.pop("format", None)
    step = checked.pop("multiple_of", None) if node["type"] == "float" else None
    pattern = checked.pop("pattern", None)
    new = strict_core.core(**checked)
    if isinstance(pattern, str):
        new = strict_core.matching(pattern, new)
    if step is not None:
        new = strict_core.after(strict_core.multiple_of(cast("float", step)), new)
    if named is not None:
        new = strict_core.formatted(cast("str", named), new)
    added = {keywords[name]: cast("JSONValue", value) for name, value in rules.items() if name in keywords}
    return new, {**json, **added}
