"""Types that pydantic knows and we do not take apart: its models above all.

Knows TypeAdapter; gives back the same pair of schemas that our own builder makes.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import PydanticOmit, core_schema

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import map_subschemas, subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import DECIMAL_PATTERN, INT_KEY_PATTERN
from toolhaft.schema.tighten import tighten

MOST_NODES: Final = 5_000


class Foreign(NamedTuple):
    """A foreign type: its strict core schema and plain JSON Schema, each with the definitions it needs."""

    core: core_schema.CoreSchema
    core_defs: tuple[core_schema.CoreSchema, ...]
    json: JSONObject
    json_defs: JSONObject


def foreign(annotation: object, mode: JsonSchemaMode) -> Foreign:
    """Both schemas of a type, through pydantic.

    Raises:
        DefinitionError: where pydantic cannot check the type, or JSON Schema cannot say it.
    """
    try:
        return _cached(annotation, mode)
    except TypeError:  # not hashable
        return _translate(annotation, mode)


@lru_cache(maxsize=2048)
def _cached(annotation: object, mode: JsonSchemaMode) -> Foreign:
    return _translate(annotation, mode)


def _translate(annotation: object, mode: JsonSchemaMode) -> Foreign:
    word = getattr(annotation, "__name__", None) or str(annotation)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", annotation))
        json = cast("JSONObject", adapter.json_schema(mode=mode, schema_generator=_PlainJsonSchema))
    except PydanticUndefinedAnnotation as error:
        raise DefinitionError(
            f"the type {error.name!r} is not defined", fix="define or import it before the tool is first used"
        ) from error
    except ImportError as error:
        raise DefinitionError(f"{word} needs a package that is not installed: {error!s:.200}") from error
    except (
        PydanticSchemaGenerationError,
        PydanticInvalidForJsonSchema,
        PydanticUserError,
        PydanticOmit,
    ) as error:
        raise DefinitionError(
            f"{word} has no JSON form", fix="use a JSON-like type, a dataclass or a Pydantic model"
        ) from error
    schema = tighten(adapter.core_schema)
    defs: tuple[core_schema.CoreSchema, ...] = ()
    if schema["type"] == "definitions":
        defs, schema = tuple(schema["definitions"]), schema["schema"]
    plain, kept = inline(json)
    return Foreign(schema, defs, plain, kept)


class _PlainJsonSchema(GenerateJsonSchema):
    """Pydantic's JSON Schema without titles made from names, in the author's order, in the seed's words."""

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:  # noqa: ARG002 -- overridden
        return value

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 -- overridden
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _untitled(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _untitled(super().dataclass_schema(schema), schema["cls"])

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return _untitled(super().typed_dict_schema(schema), schema.get("cls"))

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        made = _untitled(super().enum_schema(schema), schema["cls"])
        values = made.pop("enum", None) or [made.pop("const")]
        made.pop("type", None)
        return {"enum": values, **made}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        made = super().literal_schema(schema)
        return {"enum": made["enum"] if "enum" in made else [made["const"]]}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        if made.get("additionalProperties") is True:
            del made["additionalProperties"]
        keys = schema.get("keys_schema")
        if keys is not None and not made.keys() & {"patternProperties", "propertyNames"}:
            is_integer = keys["type"] == "int"
            said = {"pattern": INT_KEY_PATTERN} if is_integer else self.generate_inner(keys)
            words = {word: value for word, value in said.items() if word != "type"}
            made.update({"propertyNames": words} if words else {})
        return made

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        made = super().tagged_union_schema(schema)
        if isinstance(made.get("discriminator"), dict):
            made["discriminator"].pop("mapping", None)  # it names definitions, which are written out in place
        return made

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        made = super().decimal_schema(schema)
        number = cast("list[JsonSchemaValue]", made.get("anyOf", [{"type": "number"}]))[0]
        text = {"type": "string", "pattern": DECIMAL_PATTERN}
        return text if self.mode == "serialization" else {"anyOf": [number, text]}


def _untitled(made: JsonSchemaValue, cls: type | None) -> JsonSchemaValue:
    if cls is not None and made.get("title") == cls.__name__:
        del made["title"]
    return made


def inline(schema: JSONObject) -> tuple[JSONObject, JSONObject]:
    """A schema with its `$defs` written out in place, and the recursive definitions, which must stay."""
    defs = cast("dict[str, JSONObject]", schema.pop("$defs", {}))
    if not defs:
        return schema, {}
    for name, definition in defs.items():
        title = definition.get("title")
        if isinstance(title, str) and name.endswith(title):  # an enum gets its title later than the others
            del definition["title"]
    users = {name: _references(definition) for name, definition in defs.items()}
    recursive = {name for name in defs if name in _reachable(name, users)}
    budget = [MOST_NODES]
    plain = _written_out(schema, defs, recursive, budget)
    kept: JSONObject = {name: _written_out(defs[name], defs, recursive, budget) for name in sorted(recursive)}
    if budget[0] < 0:  # a diamond of types: written out it would grow without end
        return schema, cast("JSONObject", defs)
    return plain, kept


def _name_of(reference: JSONValue) -> str:
    return cast("str", reference).removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")


def _references(node: JSONObject) -> set[str]:
    own = {_name_of(node["$ref"])} if isinstance(node.get("$ref"), str) else set[str]()
    return own.union(*(_references(child) for _, child in subschemas(node)))


def _reachable(start: str, users: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(users[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(users.get(name, ()))
    return found


def _written_out(
    node: JSONObject, defs: dict[str, JSONObject], kept: set[str], budget: list[int]
) -> JSONObject:
    budget[0] -= 1
    if budget[0] < 0:
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and _name_of(reference) not in kept:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _written_out({**defs[_name_of(reference)], **beside}, defs, kept, budget)
    return map_subschemas(node, lambda child: _written_out(child, defs, kept, budget))
