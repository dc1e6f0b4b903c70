"""What stands beside a type: bounds, lengths, patterns, and words for the model.

Reads `Annotated`, `Field` and a dataclass field's metadata; does not know the types that they narrow.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from toolhaft.errors import DefinitionError
from toolhaft.schema import strict_core
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.secret import is_secret
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
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "int": _NUMBER,
    "float": _NUMBER,
    "str": _STRING,
    "list": _ARRAY,
    "dict": _OBJECT,
}
RULES: Final = frozenset((*_NUMBER, *_STRING))


class Beside:
    """Everything said beside one type."""

    __slots__ = ("alias", "default", "factory", "rules", "unknown", "words")

    def __init__(self) -> None:
        self.rules: dict[str, object] = {}
        self.words: JSONObject = {}
        self.default: object = NOTHING
        self.factory: object = None
        self.alias: str | None = None
        self.unknown: list[object] = []


def read_metadata(items: Iterable[object], beside: Beside | None = None) -> Beside:
    """What an `Annotated` or a `Field` says; what only pydantic understands is kept as unknown."""
    beside = beside or Beside()
    for item in items:
        if isinstance(item, str):
            beside.words["description"] = item
        elif is_secret(item):
            beside.words["writeOnly"] = True
        elif isinstance(item, FieldInfo):
            _read_field(item, beside)
        elif hasattr(item, "__get_pydantic_core_schema__") or hasattr(item, "__get_pydantic_json_schema__"):
            beside.unknown.append(item)
        elif not _read_rules(item, beside):
            _read_other(item, beside)
    return beside


def _read_other(item: object, beside: Beside) -> None:
    documentation = getattr(item, "documentation", None)
    if isinstance(documentation, str):
        beside.words["description"] = documentation
    elif type(item).__module__ == "annotated_types":  # a predicate, a time zone: pydantic knows what to do
        beside.unknown.append(item)


def _read_rules(item: object, beside: Beside) -> bool:
    """True if the item is a rule such as `Ge(1)`, `Len(1, 5)`, `Interval(...)` or pydantic's general one."""
    pairs = cast("Mapping[str, object]", getattr(item, "__dict__", None) or _slots(item))
    said = {name: value for name, value in pairs.items() if value is not None and name != "strict"}
    if not said.keys() & RULES:
        return "strict" in pairs
    if not said.keys() <= RULES:  # it says more than we can: pydantic understands all of it
        beside.unknown.append(item)
        return True
    for name, value in said.items():
        beside.rules[name] = (
            _plain_pattern(cast("re.Pattern[str]", value)) if isinstance(value, re.Pattern) else value
        )
    return True


def _plain_pattern(pattern: re.Pattern[str]) -> str:
    if pattern.flags & ~re.UNICODE:
        raise DefinitionError(
            f"the pattern {pattern.pattern!r:.80} has flags, which JSON Schema cannot say",
            fix="write the pattern so that it needs no flags",
        )
    return pattern.pattern


def _slots(item: object) -> dict[str, object]:
    return {name: getattr(item, name) for name in RULES if not isinstance(item, type) and hasattr(item, name)}


def _read_field(field: FieldInfo, beside: Beside) -> None:
    read_metadata(field.metadata, beside)
    for word in ("title", "description", "examples"):
        value = getattr(field, word)
        if value is not None:
            beside.words[word] = cast("JSONValue", value)
    extra = field.json_schema_extra
    if isinstance(extra, dict):
        beside.words.update(cast("JSONObject", extra))
        if "format" in beside.words:  # the one keyword that is a rule and has no other way in
            beside.rules["format"] = beside.words.pop("format")
    if field.discriminator is not None:
        beside.unknown.append(field)
    if field.default is not PydanticUndefined and field.default is not ...:
        beside.default = cast("object", field.default)
    if field.default_factory is not None:
        beside.factory = field.default_factory
    beside.alias = _alias(field) or beside.alias


def _alias(field: FieldInfo) -> str | None:
    alias = field.validation_alias or field.alias
    if alias is not None and not isinstance(alias, str):
        raise DefinitionError(f"the alias {alias!r:.80} is not one name", fix="give one alias as text")
    return alias


def read_mapping(metadata: Mapping[object, object]) -> Beside:
    """What a dataclass field's `metadata={...}` says: rules and words by name, anything else left alone."""
    beside = Beside()
    for name, value in metadata.items():
        if name in RULES:
            beside.rules[cast("str", name)] = value
        elif name in ("description", "title", "examples"):
            beside.words[cast("str", name)] = cast("JSONValue", value)
        elif name == "alias":
            beside.alias = str(value)
    return beside


def narrow(
    core: CoreSchema, json: JSONObject, rules: Mapping[str, object]
) -> tuple[CoreSchema, JSONObject] | None:
    """Both schemas with the rules in force, or None where a rule does not fit the type."""
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
    words = _WORDS.get(cast("str", node["type"]), {})
    if any(name not in words for name in rules):
        return None
    checked = {**node, **rules}
    named = checked.pop("format", None)
    step = checked.pop("multiple_of", None) if node["type"] == "float" else None
    new = strict_core.core(**checked)
    if step is not None:
        new = strict_core.after(strict_core.multiple_of(cast("float", step)), new)
    if named is not None:
        new = strict_core.formatted(cast("str", named), new)
    return new, {**json, **{words[name]: cast("JSONValue", value) for name, value in rules.items()}}
