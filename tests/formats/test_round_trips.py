"""Round trips: tools and calls through any format, and from any format to any other and back."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.formats.examples import examples
from tests.formats.variants import VARIANTS, Variant
from toolhaft import Tool, ToolCall
from toolhaft.formats import FORMATS, decode_calls, encode_calls, export_tools, import_tools
from toolhaft.schema.invisible import invisible_characters

_LETTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")).filter(
    lambda letter: not any(invisible_characters(letter))  # an import refuses them
)
_WORDS = st.text(_LETTERS, min_size=1, max_size=30).filter(str.strip).map(str.strip)
_NAMES = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}", fullmatch=True)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(_LETTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(_LETTERS, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(st.text(_LETTERS, max_size=6), _VALUES, max_size=3)


@st.composite
def _schemas(draw, depth=2):
    """A schema with common keywords."""
    leaves = [
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 9},
        {"type": "string", "format": draw(st.sampled_from(["date", "uri", "email"]))},
        {"type": "integer", "minimum": draw(st.integers(-5, 5))},
        {"type": "number", "exclusiveMaximum": 10},
        {"type": "boolean"},
        {"enum": draw(st.lists(st.text(_LETTERS, max_size=4), min_size=1, max_size=3, unique=True))},
        {"enum": [1, 2, "3"]},
        {"const": draw(st.sampled_from(["a", 1, True]))},
        {"type": ["string", "null"]},
    ]
    schema: dict[str, Any] = dict(draw(st.sampled_from(leaves)))
    if depth:
        inner = _schemas(depth=depth - 1)
        kind = draw(st.sampled_from(["leaf", "array", "object", "union", "map"]))
        if kind == "array":
            schema = {"type": "array", "items": draw(inner)}
        elif kind == "object":
            schema = draw(_objects(depth=depth - 1))
        elif kind == "union":
            schema = {"anyOf": [draw(inner), draw(inner)]}
        elif kind == "map":
            schema = {"type": "object", "additionalProperties": draw(inner)}
    if draw(st.booleans()):
        schema["description"] = draw(_WORDS)
    return schema


@st.composite
def _objects(draw, depth=2, least=1):
    names = st.text(_LETTERS, max_size=6)
    properties = draw(st.dictionaries(names, _schemas(depth=depth), min_size=least, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    closed = {"additionalProperties": False} if draw(st.booleans()) else {}
    return {"type": "object", "properties": properties, "required": required, **closed}


@st.composite
def _tools(draw):
    """A tool with any of the optional fields."""
    maybe = {
        "title": _WORDS,
        "when_to_use": _WORDS,
        "output_schema": st.sampled_from(
            [
                {"type": "object"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "properties": {"n": {"type": "integer"}}},
                {"type": "object", "properties": {"n": {"type": "integer"}}, "description": "The number"},
                {"type": "string", "description": "The text,\n\nin two parts"},
            ]
        ),
        "tags": st.lists(st.sampled_from(["web", "files"]), min_size=1, max_size=2, unique=True),
        "version": st.just("1.2.0"),
        "metadata": st.just({"team": "search"}),
        "effect": st.sampled_from(["read", "idempotent", "reversible", "irreversible"]),
    }
    options = {key: draw(values) for key, values in maybe.items() if draw(st.booleans())}
    return Tool(name=draw(_NAMES), description=draw(_WORDS), input_schema=draw(_objects(least=0)), **options)


_SAYS = ("title", "output_schema", "tags", "version", "metadata", "effect")


def _said(tool):
    return {name: getattr(tool, name) for name in _SAYS}


def _defaults():
    return _said(Tool(name="t", description="t"))


@examples(16)
@given(tool=_tools())
@each_case("variant", VARIANTS, ids=str)
def test_an_exported_tool_is_imported_unchanged_but_for_the_losses(variant, tool):
    export = variant.export(tool)
    if export.refused:
        return
    (back,) = import_tools(export.payload, variant.format)
    lost = {loss.keyword for loss in export.losses if not loss.path and loss.done == "left out"}
    lost |= {field.field for field in export.policy_fields}
    changed = [loss for loss in export.losses if loss.path]
    renamed = any(loss.keyword == "name" for loss in export.losses)
    says = _said(tool)
    for name in _SAYS:
        if name in lost:
            says[name] = _defaults()[name]
    if "output_schema" in lost and "description" in tool.output_schema:
        says["output_schema"] = {"description": tool.output_schema["description"]}
    if variant.format != "native":
        assert "metadata" in lost or not tool.metadata

    assert (back.name == tool.name) == (not renamed)
    assert (back.description, back.when_to_use) == (tool.description, tool.when_to_use)
    assert {**_said(back), "metadata": {}} == {**says, "metadata": {}}
    if not changed and not variant.strict:
        assert _closed(back.input_schema) == _closed(tool.input_schema)


def _closed(schema):
    """A tool's root is closed even if it does not say so."""
    return {"additionalProperties": False, "properties": {}, **_meant(schema)}


def _meant(schema):
    """The schema in a normal form: a constant as an enum, no empty `required`."""
    if isinstance(schema, list):
        return [_meant(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    said = {key: value if key in ("enum", "const") else _meant(value) for key, value in schema.items()}
    if "const" in said:
        said["enum"] = [said.pop("const")]
    if said.get("required") == []:
        del said["required"]
    return said


_PARTS = st.sampled_from(
    [
        "A.",
        "\n",
        "\n\n",
        " ",
        "When to use: ",
        "\n\nWhen to use: ",
        "\n\nExamples:\n",
        '{"input":{"query":"x"}}',
        "ü",
    ]
)
_SENTENCES = st.lists(_PARTS, min_size=1, max_size=6).map("".join).filter(str.strip)


@examples(16)
@given(
    description=_SENTENCES,
    when_to_use=st.none() | _SENTENCES,
    examples=st.lists(st.sampled_from([{"query": "a\nb"}, {"query": "ü"}, {"query": ""}]), max_size=2),
)
@each_case("format", FORMATS)
def test_descriptions_are_imported_unchanged_or_a_loss_is_reported(
    format, description, when_to_use, examples
):
    tool = Tool(
        name="t",
        description=description,
        when_to_use=when_to_use,
        examples=[{"input": example} for example in examples],
        input_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    )
    export = export_tools([tool], format, examples=True)

    (back,) = import_tools(export.payload, format)

    if not export.losses:
        assert (back.description, back.when_to_use, back.examples) == (
            description,
            when_to_use,
            tool.examples,
        )
    assert {loss.keyword for loss in export.losses} <= {"description"}


@examples(16)
@given(tool=_tools())
@each_case("variant", VARIANTS, ids=str)
def test_an_imported_schema_is_exported_again_unchanged(variant, tool):
    first = variant.export(tool)
    if first.refused:
        return
    (back,) = import_tools(first.payload, variant.format)

    again = variant.export(back)

    assert (again.payload, again.refused) == (first.payload, ())
    assert [loss for loss in again.losses if loss.path] == []


@examples(16)
@given(to=st.sampled_from(FORMATS), tool=_tools())
@each_case("format", FORMATS)
def test_tools_convert_from_any_format_to_any_other_and_back(format, to, tool):
    first = export_tools([tool], format)
    if first.refused:
        return
    there = export_tools(import_tools(first.payload, format), to)
    if there.refused or any(loss.done != "renamed" for loss in there.losses) or there.payload == {}:
        return
    imported = import_tools(there.payload, to)
    back = export_tools(imported, format)

    assert [_words(tool) for tool in import_tools(back.payload, format)] == [
        _words(tool) for tool in imported
    ]
    if not there.losses and not there.policy_fields:
        assert _meant(back.payload) == _meant(first.payload)


def _words(tool):
    return (tool.name, tool.description, tool.when_to_use, _meant(tool.input_schema))


_ALPHA = Tool(
    name="alpha.beta", description="A.", input_schema={"type": "object", "additionalProperties": True}
)
_STRICT = Tool(
    name="gamma",
    description="G.",
    input_schema={
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "scores": {"type": "object", "additionalProperties": {"type": "integer"}},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
        "required": ["n"],
    },
)
_IDS = st.text(_LETTERS, max_size=80) | st.from_regex(r"[A-Za-z0-9]{9}", fullmatch=True)


@st.composite
def _calls(draw):
    ids = draw(st.lists(_IDS, min_size=1, max_size=4, unique=True))
    return [ToolCall(id, "alpha.beta", draw(_arguments())) for id in ids]


@st.composite
def _arguments(draw):
    value = draw(_OBJECTS)
    return (
        value
        if draw(st.booleans())
        else json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    )


def _plain(calls, *, ids=True):
    """Calls with their arguments as objects, however they travelled."""
    return [
        (
            call.id if ids else None,
            call.name,
            json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments,
            call.malformed,
        )
        for call in calls
    ]


@examples(16)
@given(calls=_calls())
@each_case("format", FORMATS)
def test_encoded_calls_are_decoded_unchanged(format, calls):
    export = export_tools([_ALPHA], format)
    history = encode_calls(calls, format, export=export)

    assert _plain(decode_calls(history, format, export=export)) == _plain(calls)


@examples(16)
@given(calls=_calls())
@each_case("format", FORMATS)
def test_decoded_calls_with_extras_are_encoded_and_decoded_unchanged(format, calls):
    export = export_tools([_ALPHA], format)
    first = decode_calls(encode_calls(calls, format, export=export), format, export=export)

    again = decode_calls(encode_calls(first, format, export=export), format, export=export)

    assert again == first


@examples(16)
@given(
    n=st.integers(-9, 9),
    scores=st.none() | st.dictionaries(st.text(_LETTERS, max_size=4), st.integers(0, 9), max_size=3),
    pair=st.none() | st.tuples(st.text(_LETTERS, max_size=4), st.integers(0, 9)).map(list),
)
@each_case("variant", VARIANTS, ids=str)
def test_reshaped_arguments_are_restored(variant, n, scores, pair):
    arguments = {
        key: value for key, value in {"n": n, "scores": scores, "pair": pair}.items() if value is not None
    }
    export = variant.export(_STRICT)
    call = ToolCall("call00001", "gamma", arguments)

    history = encode_calls([call], variant.format, export=export)

    assert _plain(decode_calls(history, variant.format, export=export)) == _plain([call])


@each_case("format", FORMATS)
def test_extras_that_a_format_cannot_send_are_reported(format):
    call = ToolCall("call00001", "t", {"a": 1}, extras={"elsewhere": {"signature": "x"}})

    encoded = encode_calls([call], format)

    if format == "native":
        assert decode_calls(encoded, format) == [call]
    else:
        assert [(loss.tool, loss.keyword, loss.done) for loss in encoded.losses] == [
            ("t", "extras", "left out")
        ]


@each_case("format", FORMATS)
def test_encoding_no_calls_gives_no_messages(format):
    assert (list(encode_calls([], format)), decode_calls([], format)) == ([], [])


def test_the_variants_cover_every_format():
    assert {variant.format for variant in VARIANTS} == set(FORMATS)
    assert Variant("openai_chat", strict=True) in VARIANTS
