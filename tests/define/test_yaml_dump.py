"""dump_tool keeps the text of a loaded file, and writes any other tool so that it loads again."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from tests.cases import each_case
from toolhaft import Tool, ToolConfig, ToolExample, ToolResult, create_tool, tool
from toolhaft.define.yaml import YamlTool, dump_tool, load_tool, parse_tool, write_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.invisible import invisible_characters

FILE = """\
# who tells the weather

id: weather          # never changes
name:   'Weather'    # for people
description: |  # for the model
  Tells the weather.

  Of today only.

tags: # any number
  - sky   # up
  - rain
  # more to come
"is_active": false # set by get
parameters:
- {name: city,   type: string, description: "Wo?"}   # odd spaces stay
"""
META = 'id: "weather"\nname: "Weather"\ndescription: "Tells the weather."\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name="out.yaml"):
    return Path(name).read_bytes().decode()


def names():
    return sorted(path.name for path in Path().iterdir())


def load(text):
    Path("in.yaml").write_bytes(text.encode())
    return load_tool("in.yaml")


def dumped(thing):
    dump_tool(thing, "out.yaml")
    return read()


def definition(made):
    names = [
        name for name in Tool.__slots__ if name[0] != "_" and name not in ("handler", "source", "validate")
    ]
    own = [name for name in YamlTool.__slots__ if name not in ("text", "folder")]
    return {name: getattr(made, name, None) for name in (*names, *own)}


def raw(schema, output=None, **more):
    named = {"name": "raw", "description": "Raw.", **more}
    return create_tool(ToolConfig(input_schema=schema, output_schema=output, **named))


def refusal(thing):
    with pytest.raises(DefinitionError) as caught:
        dump_tool(thing, "out.yaml")
    assert not Path("out.yaml").exists()
    return str(caught.value)


# --- what cannot be written ---


def test_anything_but_a_tool_is_refused():
    assert "is not a tool" in refusal("weather")


def test_a_schema_that_yaml_cannot_express_is_refused_with_every_reason():
    schema = {
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["c"]}],
        "properties": {
            "a": {"type": ["string", "null"], "description": "A"},
            "b": True,
            "c": {"type": "string"},
            "d": {"type": "object", "description": "D", "required": ["x"]},
            "e": {"type": "object", "description": "E", "required": ["x"], "default": None},
            "f": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "F"},
        },
        "required": ["e"],
    }
    types = "string, number, integer, boolean, array, object"
    assert refusal(raw(schema, {"type": "integer"})).splitlines() == [
        "tool 'raw': YAML cannot express it:",
        "- 'anyOf' is declared next to the parameters. Fix: declare it inside them, or do not convert the tool",
        f"- parameter 'a' does not have one simple type. Fix: give it one of {types}",
        f"- parameter 'b' does not have one simple type. Fix: give it one of {types}",
        "- parameter 'c' has no description. Fix: describe it",
        "- parameter 'd' is optional and lists required keys. Fix: make it required, or its keys optional",
        "- parameter 'e' is required, has a default and lists required keys. Fix: leave the default out",
        f"- parameter 'f' does not have one simple type. Fix: give it one of {types}",
        "- the output is not an object with named fields. Fix: return such an object, or declare no output",
    ]


@each_case(
    ("made", "told"),
    [
        ({"schema": {"type": "object", "additionalProperties": True}}, "'additionalProperties' is declared next to the parameters"),
        ({"schema": {"type": "object", "$defs": {}}}, "'$defs' is declared next to the parameters"),
        ({"schema": {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}}, "'$schema' is declared"),
        ({"schema": {"type": "object"}, "output": True}, "the output is not an object with named fields"),
        ({"schema": {"type": "object"}, "output": {"type": "object"}}, "the output is not an object with named fields"),
        (
            {
                "schema": {"type": "object"},
                "output": {"type": "object", "properties": {"a": {"type": "object", "description": "A", "required": ["b"]}}},
            },
            "return field 'a' is optional and lists required keys",
        ),
        ({"schema": {"type": "object"}, "name": "Raw.Tool"}, "id 'Raw.Tool' is not a tool id. Fix: use 1 to 50"),
        ({"schema": {"type": "object"}, "description": "x" * 1001}, "description has 1001 characters. Fix: use 1 to 1000"),
        ({"schema": {"type": "object"}, "title": "x" * 101}, "name has 101 characters. Fix: use 1 to 100"),
        ({"schema": {"type": "object"}, "metadata": {"a": float("nan")}}, "metadata: the value is not JSON"),
        (
            {"schema": {"type": "object", "properties": {"a": {"type": "string", "description": "A", "x-own": 1}}}},
            "parameter 'a': unknown key 'x-own'",
        ),
        (
            {"schema": {"type": "object", "properties": {"a": {"type": "string", "description": "A", "name": "b"}}}},
            "parameters would be read back changed",
        ),
    ],
)  # fmt: skip
def test_a_tool_that_yaml_cannot_express_is_refused(made, told):
    assert told in refusal(raw(**made))


def test_an_unwritable_path_is_reported_and_nothing_is_left(folder):
    made = load(META)
    for path in ("no/weather.yaml", folder, "", "a\0b"):
        with pytest.raises(DefinitionError, match=r"the file cannot be written: .*Fix: check the folder"):
            dump_tool(made, path)
    assert names() == ["in.yaml"]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_unchanged(monkeypatch, broken):
    made = load(META)
    Path("out.yaml").write_text("the old one", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", fail) if broken == "fsync" else (Path, "replace", fail)))
    with pytest.raises(
        DefinitionError, match=r"out\.yaml: the file cannot be written: No space left on device"
    ):
        dump_tool(made, "out.yaml")
    assert (read(), names()) == ("the old one", ["in.yaml", "out.yaml"])


# --- a loaded file ---


@pytest.mark.parametrize(
    "text", [FILE, f"\ufeff{META}", META.replace("\n", "\r\n"), META.rstrip(), f"---\n{META}...\n# end"]
)
def test_a_loaded_file_is_written_back_unchanged(text):
    assert dumped(load(text)) == text


def test_only_replaced_values_change_in_the_file():
    made = load(FILE).replace(
        title="Weather 2",
        description="Tells it.\nTomorrow's too.",
        tags=["sun"],
        is_active=True,
        timeout_s=5,
        owner="me",
    )
    expected = (
        FILE.replace("'Weather'", '"Weather 2"')
        .replace(
            "|  # for the model\n  Tells the weather.\n\n  Of today only.\n",
            '|-  # for the model\n  Tells it.\n  Tomorrow\'s too.\nowner: "me"\n',
        )
        .replace("  - sky   # up\n  - rain\n", '  - "sun"\n')
        .replace("false # set by get", "true # set by get\ntimeout_s: 5.0")
    )
    assert dumped(made) == expected
    assert definition(load_tool("out.yaml")) == definition(made)


@each_case(
    ("text", "changes", "expected"),
    [
        ("endpoint:\n", {"endpoint": "https://a.b/"}, 'endpoint: "https://a.b/"\n'),
        ("endpoint:   # none yet\n", {"endpoint": "https://a.b/"}, 'endpoint: "https://a.b/"   # none yet\n'),
        ("endpoint: https://a.b/ # old\n", {"endpoint": None}, "# old\n"),
        ("owner: a\nendpoint: https://a.b/\n", {"owner": None, "endpoint": None}, 'the weather."\n'),
        ("tags:\n- a\n- b\n", {"tags": ["c", "d e"]}, 'tags:\n- "c"\n- "d e"\n'),
        ("tags:\n- a\n", {"tags": []}, "tags:\n  []\n"),
        ("tags: [a, b] # x\n", {"tags": ["c"]}, 'tags: ["c"] # x\n'),
        ("metadata:\n  a: 1\n  b:\n", {"metadata": {"c": {"d": 1}}}, 'metadata:\n  c: {"d": 1}\n'),
        ("metadata: {a: 1}\n", {"metadata": {"a": True}}, 'metadata: {"a": true}\n'),
        ("owner: >-\n  a\n  b\n\n# end\n", {"owner": "c"}, 'owner: "c"\n\n# end\n'),
        ("owner: plain\n  text\n", {"owner": "c"}, 'owner: "c"\n'),
        ("version: &v '1'\nowner: *v\n", {"owner": "c"}, "version: &v '1'\nowner: \"c\"\n"),
        ("tags: &t\n  - a\n", {"tags": ["c"]}, 'tags: ["c"]\n'),
        ("owner: |+\n  a\n\n", {"effect": "read"}, "owner: |+\n  a\n\n"),
    ],
)
def test_a_value_is_replaced_in_place(text, changes, expected):
    made = load(META + text).replace(**changes)
    assert dumped(made).endswith(expected)
    assert definition(load_tool("out.yaml")) == definition(made)


def test_a_new_key_is_added_in_the_order_of_a_new_file():
    text = f"{META}parameters: []\n"
    made = load(text).replace(is_active=True, endpoint="https://a.b/", when_to_use="Outdoors.\nAlways.")
    assert dumped(made) == (
        f"{META}when_to_use: |-\n  Outdoors.\n  Always.\n"
        'is_active: true\nendpoint: "https://a.b/"\nparameters: []\n'
    )


def test_new_lines_have_the_files_line_ending():
    made = load(META.replace("\n", "\r\n")).replace(is_active=True)
    assert dumped(made) == (META + "is_active: true\n").replace("\n", "\r\n")


def test_a_document_in_flow_style_stays_so():
    made = load("{id: a, name: A, description: text}  # one line\n").replace(name="b", owner="me")
    assert dumped(made) == '{id: "b", name: A, description: text, "owner": "me"}  # one line\n'.replace(
        '"owner"', "owner"
    )


def test_a_changed_merged_key_is_added_to_the_mapping():
    text = f"{META}metadata: &m {{owner: you}}\n<<: *m\n"
    made = load(text)
    assert made.owner == "you"
    assert dumped(made.replace(owner="me")) == text.replace("metadata", 'owner: "me"\nmetadata', 1)


def test_a_key_is_never_added_inside_a_block_text():
    text = "name: Weather\ndescription: |+\n  Tells.\n\nid: weather\n"
    assert dumped(load(text).replace(when_to_use="Now.")) == text.replace(
        "Weather\n", 'Weather\nwhen_to_use: "Now."\n'
    )
    text = "description: |+\n  Tells.\n\n<<: {id: weather, name: Weather}\n"
    assert dumped(load(text).replace(when_to_use="Now.")) == f'when_to_use: "Now."\n{text}'


def test_replacing_an_anchor_in_use_is_refused():
    made = load(META + "version: &v '1'\nowner: *v\n").replace(version="2")
    assert "there is no anchor &v before this alias" in refusal(made)


def test_a_replaced_value_that_yaml_refuses_is_refused():
    assert "description has 1001 characters" in refusal(load(META).replace(description="x" * 1001))
    assert "description: the value is not JSON" in refusal(load(META).replace(description="\ud83d"))


def test_a_handler_given_later_does_not_change_the_file():
    assert dumped(load(FILE).replace(handler=print)) == FILE


# --- a tool of another door ---


class Forecast(TypedDict):
    sky: Annotated[str, Field(description="In words")]
    hours: Annotated[list[int], Field(description="Hours of sun")]


@tool(effect="read", timeout_s=3, tags=["sky"], metadata={"team": {"name": "sky"}}, requires=["net"])
def forecast(
    city: str, days: Annotated[int, Field(ge=1, le=7)] = 1, unit: Literal["C", "F"] = "C"
) -> Forecast:
    """Tell the weather.

    It may be wrong: # always.

    Args:
        city: Where
        days: How many
        unit: Which scale
    """
    return Forecast(sky=f"{city} {unit}", hours=[days])


def test_a_function_becomes_a_file_that_a_person_would_write():
    assert (
        dumped(forecast)
        == """\
id: "forecast"
name: "forecast"
description: |-
  Tell the weather.

  It may be wrong: # always.
tags: ["sky"]
effect: "read"
timeout_s: 3.0
requires: ["net"]
metadata:
  team:
    name: "sky"
parameters:
  - name: "city"
    type: "string"
    description: "Where"
  - name: "days"
    type: "integer"
    required: false
    minimum: 1
    maximum: 7
    description: "How many"
    default: 1
  - name: "unit"
    type: "string"
    required: false
    enum: ["C", "F"]
    description: "Which scale"
    default: "C"
returns:
  - name: "sky"
    type: "string"
    description: "In words"
  - name: "hours"
    type: "array"
    items:
      type: "integer"
    description: "Hours of sun"
"""
    )
    again = load_tool("out.yaml")
    assert again.validate('{"city": "Oslo"}').params == {"city": "Oslo", "days": 1, "unit": "C"}
    assert again.output_schema == forecast.output_schema


@dataclass
class Place:
    city: Annotated[str, Field(description="Where")]


def test_a_typed_tool_with_typed_examples_becomes_a_file():
    made = Tool[Place, Forecast](
        name="visit",
        description="Go there.",
        handler=lambda params, *, context: ToolResult.ok(Forecast(sky="", hours=[])),
        examples=[
            ToolExample(description="Home", input=Place("Oslo"), output=Forecast(sky="blue", hours=[12]))
        ],
    )
    dump_tool(made, "out.yaml")
    again = load_tool("out.yaml")
    assert (again.input_schema, again.output_schema) == (made.input_schema, made.output_schema)
    output = {"sky": "blue", "hours": [12]}
    assert again.examples == (ToolExample(description="Home", input={"city": "Oslo"}, output=output),)


def test_implied_keywords_are_not_written():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
    }
    assert dumped(raw(schema)) == 'id: "raw"\nname: "raw"\ndescription: "Raw."\n'


def test_the_old_file_keeps_its_mode_and_a_link_stays_a_link(folder):
    (folder / "real.yaml").write_text(META, encoding="utf-8")
    (folder / "real.yaml").chmod(0o640)
    (folder / "out.yaml").symlink_to("real.yaml")
    dump_tool(load_tool("out.yaml").replace(owner="me"), "out.yaml")
    assert (folder / "out.yaml").is_symlink()
    assert stat.S_IMODE((folder / "real.yaml").stat().st_mode) == 0o640
    assert load_tool("real.yaml").owner == "me"


def texts(**sizes):
    """Texts that a file may have: without invisible characters."""
    return st.text(**sizes).map(lambda text: "".join(filter(is_visible, text)))


def is_visible(letter):
    return not any(invisible_characters(letter))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(max_size=20), inner, max_size=4),
    max_leaves=15,
)
TEXT = texts(min_size=1, max_size=60).filter(str.strip)
PARAMETER = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["string", "number", "integer", "boolean", "array", "object"]),
        "description": TEXT,
    },
    optional={"title": TEXT, "examples": st.lists(JSON, max_size=3), "$comment": texts(max_size=20)},
)
WORDS = st.fixed_dictionaries(
    {"description": TEXT},
    optional={
        "title": TEXT,
        "when_to_use": TEXT,
        "metadata": st.dictionaries(texts(max_size=20), JSON, max_size=4),
        "tags": st.lists(TEXT, max_size=3),
        "version": TEXT,
        "effect": st.sampled_from(["read", "idempotent", "reversible"]),
        "timeout_s": st.floats(min_value=0.1, max_value=1e6),
        "retryable": st.booleans(),
    },
)
ANY_TOOL = settings(
    max_examples=200 if os.environ.get("TOOLHAFT_LONG") else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@ANY_TOOL
@given(
    WORDS,
    st.dictionaries(texts(min_size=1, max_size=50).filter(str.strip), PARAMETER, max_size=4),
    st.data(),
)
def test_any_tool_that_is_dumped_loads_as_it_was(words, properties, data):
    required = [name for name in properties if data.draw(st.booleans())]
    schema = {"type": "object", "properties": properties, "required": required}
    made = raw(schema, name="raw", **{"title": "Raw", **words})
    dump_tool(made, "out.yaml")
    again = load_tool("out.yaml")
    assert definition(again) == {
        **definition(made),
        "input_schema": schema if required else {"type": "object", "properties": properties},
        "share": "private",
    }


@ANY_TOOL
@given(
    WORDS, st.sampled_from([FILE, META, META.replace("\n", "\r\n"), "{id: a, name: A, description: text}\n"])
)
def test_any_text_can_be_replaced_and_comments_are_kept(words, text):
    made = load(text).replace(**words)
    dump_tool(made, "out.yaml")
    assert definition(load_tool("out.yaml")) == definition(made)
    kept = [
        "# who tells the weather",
        "# never changes",
        "# for people",
        "# for the model",
        "# any number",
        "# odd spaces stay",
    ]
    assert [comment for comment in kept if comment in text and comment not in read()] == []


def test_fields_of_a_mapping_on_one_line_become_null():
    text = "{id: a, name: A, description: x, owner: ann, is_active: false, endpoint: https://a.b/}"
    made = parse_tool(text).replace(owner=None, is_active=None, endpoint=None)
    assert write_tool(made) == "{id: a, name: A, description: x, owner: null, endpoint: null}"
