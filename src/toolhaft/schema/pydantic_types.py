"""Builds both schemas of a type through pydantic: models, and what `annotations` does not handle."""

from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, cast

from pydantic import PydanticUserError, Secret, TypeAdapter
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import PydanticOmit, SchemaError, core_schema

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import all_schemas, map_subschemas
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.strict_core import DECIMAL_PATTERN, INT_KEY_PATTERN
from toolhaft.schema.tighten import tighten

_MAX_NODES: Final = 5_000


class PydanticSchemas(NamedTuple):
    """The strict core schema and the JSON Schema of a type, each with the definitions that it needs."""

    core: core_schema.CoreSchema
    core_defs: tuple[core_schema.CoreSchema, ...]
    json: JSONObject
    json_defs: JSONObject


def pydantic_schemas(annotation: object, mode: JsonSchemaMode) -> PydanticSchemas:
    """Return both schemas of a type.

    Raises:
        DefinitionError: if pydantic cannot check the type, or the type has no JSON Schema.
    """
    try:
        return _translate(annotation, mode)
    except TypeError:  # not hashable
        return _translate.__wrapped__(annotation, mode)


@lru_cache(maxsize=2048)
def _translate(annotation: object, mode: JsonSchemaMode) -> PydanticSchemas:
    name = getattr(annotation, "__name__", None) or str(annotation)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", annotation))
        json = cast("JSONObject", adapter.json_schema(mode=mode, schema_generator=_PlainJsonSchema))
    except PydanticUndefinedAnnotation as error:
        raise DefinitionError(
            f"the type {error.name!r} is not defined", fix="define or import it before the tool is first used"
        ) from error
    except ImportError as error:
        raise DefinitionError(f"{name} needs a package that is not installed: {error!s:.200}") from error
    except (
        PydanticSchemaGenerationError,
        PydanticInvalidForJsonSchema,
        PydanticUserError,
        PydanticOmit,
        SchemaError,
    ) as error:
        raise DefinitionError(
            f"{name} has no JSON form", fix="use a JSON-like type, a dataclass or a Pydantic model"
        ) from error
    schema = tighten(adapter.core_schema)
    defs: tuple[core_schema.CoreSchema, ...] = ()
    if schema["type"] == "definitions":
        defs, schema = tuple(schema["definitions"]), schema["schema"]
    plain, kept = inline_definitions(json)
    return PydanticSchemas(schema, defs, plain, kept)


class _PlainJsonSchema(GenerateJsonSchema):
    """Pydantic's JSON Schema without generated titles, in the author's order, with `enum` for all choices."""

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
        values = made.pop("enum") if "enum" in made else [made.pop("const")]
        if not values:
            raise DefinitionError(
                f"the enum {schema['cls'].__name__} has no members", fix="give it at least one"
            )
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
            key_schema = {"pattern": INT_KEY_PATTERN} if is_integer else self.generate_inner(keys)
            names = {keyword: value for keyword, value in key_schema.items() if keyword != "type"}
            made.update({"propertyNames": names} if names else {})
        return made

    def json_or_python_schema(self, schema: core_schema.JsonOrPythonSchema) -> JsonSchemaValue:
        made = super().json_or_python_schema(schema)
        writer = schema.get("serialization", {}).get("function")
        # pydantic marks SecretStr and SecretBytes only
        return made if writer is None or writer is not _secret_writer() else {**made, "writeOnly": True}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        made = super().tagged_union_schema(schema)
        if isinstance(made.get("discriminator"), dict):
            made["discriminator"].pop("mapping", None)  # it names definitions, which are inlined
        return made

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        made = super().decimal_schema(schema)
        number = cast("list[JsonSchemaValue]", made.get("anyOf", [{"type": "number"}]))[0]
        text = {"type": "string", "pattern": DECIMAL_PATTERN}
        return text if self.mode == "serialization" else {"anyOf": [number, text]}


@cache
def _secret_writer() -> object:
    """The function with which pydantic writes every `Secret[...]`, which is how its schema is recognised."""
    schema = cast("JSONObject", TypeAdapter(Secret[str]).core_schema)
    return cast("JSONObject", schema["serialization"])["function"]


def _untitled(made: JsonSchemaValue, cls: type | None) -> JsonSchemaValue:
    if cls is not None and made.get("title") == cls.__name__:
        del made["title"]
    return made


def inline_definitions(schema: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the schema with its `$defs` inlined, and the recursive definitions, which must stay."""
    defs = cast("dict[str, JSONObject]", schema.pop("$defs", {}))
    if not defs:
        return schema, {}
    for name, definition in defs.items():
        title = definition.get("title")
        if isinstance(title, str) and name.endswith(title):  # pydantic sets the title of an enum here only
            del definition["title"]
    users = {
        name: {
            _name_of(node["$ref"]) for node in all_schemas(definition) if isinstance(node.get("$ref"), str)
        }
        for name, definition in defs.items()
    }
    recursive = {name for name in defs if name in _reachable(name, users)}
    budget = [_MAX_NODES]
    plain = _inlined(schema, defs, recursive, budget)
    kept: JSONObject = {name: _inlined(defs[name], defs, recursive, budget) for name in sorted(recursive)}
    if budget[0] < 0:  # many types that share others: inlined, the schema would grow exponentially
        return schema, cast("JSONObject", defs)
    return plain, kept


def _name_of(reference: JSONValue) -> str:
    return cast("str", reference).removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")


def _reachable(start: str, users: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(users[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(users.get(name, ()))
    return found


def _inlined(node: JSONObject, defs: dict[str, JSONObject], kept: set[str], budget: list[int]) -> JSONObject:
    budget[0] -= 1
    if budget[0] < 0:
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and _name_of(reference) not in kept:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**defs[_name_of(reference)], **siblings}, defs, kept, budget)
    return map_subschemas(node, lambda child: _inlined(child, defs, kept, budget))
