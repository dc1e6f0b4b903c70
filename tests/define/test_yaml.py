"""The fields of a YAML file; every problem is reported with its file, line and fix."""

import importlib
import sys
from pathlib import Path

import pytest

from tests.cases import each_case, in_case
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.define.yaml import YamlTool, lint_file, lint_text, load_tool, load_tools
from toolhaft.errors import DefinitionError
from toolhaft.schema import ValidArguments

META = 'id: "weather"\nname: "Weather"\ndescription: "Tells the weather."\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(text, name="weather.yaml"):
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def load(text):
    return load_tool(write(text))


def problems(text):
    with pytest.raises(DefinitionError) as caught:
        load(text)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def parameter(*lines):
    return META + "parameters:\n  - name: limit\n" + "".join(f"    {line}\n" for line in lines)


# --- what cannot be read at all ---


@each_case("text", ["", "\n\n", "# only a comment\n", "\ufeff", "---\n", "--- # none\n...\n"])
def test_an_empty_file_is_reported(text):
    assert problems(text) == (
        "weather.yaml:1: the file is empty. Fix: write id: ..., name: ... and description: ..."
    )


@pytest.mark.parametrize("text", ["~\n", "weather\n", "- id: weather\n", "5\n"])
def test_a_document_that_is_not_a_mapping_is_reported(text):
    assert problems(text).startswith("weather.yaml:1: the file is not a mapping. Fix: write id")


def test_an_empty_mapping_lacks_all_required_fields():
    assert [line.split(". ")[0] for line in problems("{ }\n").splitlines()] == [
        "weather.yaml:1: 'id' is missing",
        "weather.yaml:1: 'name' is missing",
        "weather.yaml:1: 'description' is missing",
    ]


def test_several_documents_are_reported():
    assert problems(f"{META}---\n{META}") == (
        "weather.yaml:4: a second document starts here. Fix: keep one tool in one file"
    )


@each_case(
    ("text", "line", "told"),
    [
        ("owner: a: b\n", 4, "quote a text that contains ': '"),
        ("tags: [a, b\n", 5, "close the quote or bracket"),
        ("tags: [a, b\nowner: me\n", 5, "while parsing a flow sequence that starts on line 4"),
        ('owner: "me\n', 5, "while scanning a quoted scalar that starts on line 4"),
        ("owner:\n\tme\n", 5, "indent with spaces, not tabs"),
        ("owner: @me\n", 4, "put the value in quotes"),
        ("owner: *me\n", 4, "there is no anchor &me before this alias"),
        ("owner: & me\n", 4, "quote a text that starts with &"),
        ("  owner: me\n", 4, "Fix: "),
        ('owner: "\\q"\n', 4, "unknown escape character"),
        ('owner: "\\UFFFFFFFF"\n', 4, "check the escapes in double quotes"),
        ("owner: a\0b\n", 4, r"the character '\x00' is not allowed in a YAML file"),
    ],
)
def test_a_syntax_error_is_reported_with_its_line_and_a_hint(text, line, told):
    text = problems(META + text)
    assert text.startswith(f"weather.yaml:{line}: ")
    assert told in text
    assert "Fix: " in text


def test_a_file_that_is_not_utf_8_is_reported_with_the_line():
    assert problems(META.encode() + b"# ok\nowner: \xe9\n") == (
        "weather.yaml:5: the text is not UTF-8. Fix: save the file as UTF-8"
    )
    assert "not UTF-8" in problems(META.encode("utf-16"))


def test_a_missing_file_is_reported_with_the_callers_path():
    with pytest.raises(DefinitionError, match=r"^\./no/weather\.yaml:1: there is no such file\. Fix: "):
        load_tool("./no/weather.yaml")


def test_a_folder_instead_of_a_file_is_reported(folder):
    with pytest.raises(DefinitionError, match=r"this is a folder, not a file\. Fix: use load_tools"):
        load_tool(folder)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "weather.yaml/inner"])
def test_an_impossible_path_is_reported(path):
    write(META)
    with pytest.raises(DefinitionError, match=r":1: .*Fix: "):
        load_tool(path)


def test_a_path_cannot_add_lines_to_the_message():
    with pytest.raises(DefinitionError) as caught:
        load_tool("a\nb.yaml")
    assert str(caught.value).startswith("'a\\nb.yaml':1: ")


# --- what is read, but is no tool ---


def test_an_unknown_key_is_reported_with_the_nearest():
    assert problems(META + "timeout: 5\n") == (
        "weather.yaml:4: unknown key 'timeout'. Fix: did you mean 'timeout_s'?"
    )
    assert "unknown key 'colour'. Fix: take it out; the keys are id, name" in problems(META + "colour: red\n")
    assert "parameter 'limit': unknown key 'minimun'. Fix: did you mean 'minimum'?" in problems(
        parameter("type: integer", "description: How many", "minimun: 1")
    )


def test_a_duplicate_key_at_any_depth_is_reported_with_both_lines():
    assert problems(META + "metadata:\n  a: 1\n  a: 2\nid: other\n").splitlines() == [
        "weather.yaml:6: the key 'a' is given twice (first on line 5). Fix: keep one of the two",
        "weather.yaml:7: the key 'id' is given twice (first on line 1). Fix: keep one of the two",
    ]


@pytest.mark.parametrize(("key", "shown"), [("1", "1"), ("true", "true"), ("~", "null"), ("[a]", '["a"]')])
def test_a_key_that_is_not_text_is_reported(key, shown):
    told = f"weather.yaml:5: the key {shown} is not text. Fix: put it in quotes"
    assert problems(f"{META}metadata:\n  ? {key}\n  : x\n") == told


def test_a_duplicate_parameter_is_reported_with_both_lines():
    text = (
        parameter("type: integer", "description: How many")
        + "  - {name: limit, type: string, description: x}\n"
    )
    assert problems(text) == (
        "weather.yaml:8: parameter 'limit' is given twice (first on line 5). Fix: rename one of the two"
    )


@each_case(
    ("lines", "told"),
    [
        (
            ("type: integer", "default: ten"),
            "default 'ten' is not an integer. Fix: give a default that is an integer, or none",
        ),
        (("type: integer", 'default: "5"'), "default '5' is not an integer."),
        (("type: integer", "default: true"), "default true is not an integer."),
        (
            ("type: integer", "default: 0", "minimum: 1", "maximum: 9"),
            "default 0 is not an integer from 1 to 9.",
        ),
        (("type: string", "default: c", "enum: [a, b]"), 'default \'c\' is not one of "a", "b".'),
        (
            ("type: string", "default: abc", "maxLength: 2"),
            "default 'abc' is not a string of at most 2 characters.",
        ),
        (
            ("type: array", "default: [a, 1]", "items: {type: string}"),
            "default[1]: got 1; expected a string.",
        ),
        (
            ("type: object", "default: {}", "properties: {a: {type: string}}", "required: [a]"),
            "default.a: missing; expected a string.",
        ),
    ],
)
def test_a_default_of_the_wrong_type_or_out_of_bounds_is_reported(lines, told):
    text = problems(parameter(lines[0], "description: How many", *lines[1:]))
    assert text.startswith(f"weather.yaml:8: parameter 'limit': {told}")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("type: integer", 'minimum: "1"'), "parameter 'limit' at minimum: the schema is not valid"),
        (("type: string", 'pattern: "(?=a"'), "the pattern cannot be used"),
        (
            ("type: array", "items: {$ref: 'https://example.com/x.json'}"),
            "a reference leads outside the schema",
        ),
        (
            ("type: string", "required: [a]"),
            "only an object can list required keys. Fix: write true or false",
        ),
        (("type: object", "required: [1]"), "required [1] is not a list of the object's own keys"),
    ],
)
def test_an_invalid_keyword_is_reported_at_its_parameter(lines, told):
    assert told in problems(parameter(lines[0], "description: How many", *lines[1:]))


@each_case(
    ("text", "told"),
    [
        ("parameters: limit\n", "4: parameters 'limit' is not a list. Fix: start each of the parameters with '- name"),
        ("parameters: {limit: integer}\n", "is not a list"),
        ("parameters:\n  - limit\n", "5: parameter 1 is not a mapping. Fix: write - name: ..."),
        ("parameters:\n  -\n", "parameter 1 is not a mapping"),
        ("returns:\n  - {name: a, type: string, description: x, required: 1}\n", "required 1 is not true or false"),
        ("returns:\n  - {name: a, type: string, description: x, default: b}\n", "return field 'a': unknown key 'default'"),
        ("effect: destructive\n", "4: effect: 'destructive' is not one of read, idempotent"),
        ("timeout_s: 0\n", "timeout_s: 0 is not a positive number of seconds"),
        ("version: 1.0\n", 'version 1.0 is not text. Fix: give version a text, in quotes: version: "1.0"'),
        ("cache_s: 5\n", "4: cache_s: a tool with effect irreversible cannot be cached"),
        ("stall_s: 30\n", "4: stall_s: a stall_s of 30 s has no effect with a timeout_s of 10 s. Fix: give timeout_s=None"),
        ("idempotency: [key]\n", "4: idempotency: 'key' is not a parameter"),
        ("examples:\n  - {output: 5}\n", "4: examples: an example must be"),
        ("examples:\n  - {input: {a: 1}}\n", "4: example 1: the input is not valid: a: unknown argument"),
        ("metadata: [a]\n", "4: metadata: ['a'] is not a mapping"),
        ("metadata: {a: .inf}\n", "4: .inf is not a number in JSON. Fix: give a finite number, or quote it"),
        ("metadata: {a: 1e999}\n", "1e999 is not a number in JSON"),
        (f"metadata: {{a: {'9' * 301}}}\n", "is not a number in JSON"),
        ('owner: "\\ud83d"\n', "4: the text has a lone surrogate in it"),
        ("<<: 5\n", "4: << takes mappings only"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_line_and_a_fix(text, told):
    text = problems(META + text)
    assert told in text
    assert "Fix: " in text


def test_all_problems_of_a_file_are_reported_in_the_order_of_its_lines():
    text = "name: 5\nshare: all\nid: Weather\nname: x\nparameters:\n  - type: int\n"
    assert [line.partition(". Fix")[0] for line in problems(text).splitlines()] == [
        "weather.yaml:1: name 5 is not text",
        "weather.yaml:1: 'description' is missing",
        "weather.yaml:2: share 'all' is not one of private, org, public",
        "weather.yaml:3: id 'Weather' is not a tool id",
        "weather.yaml:4: the key 'name' is given twice (first on line 1)",
        "weather.yaml:6: parameter 1: type 'int' is not one of string, number, integer, boolean, array, object",
        "weather.yaml:6: parameter 1: 'name' is missing",
        "weather.yaml:6: parameter 1: 'description' is missing",
    ]


# --- what a file may say ---


def test_words_and_dates_are_text_as_in_yaml_1_2():
    made = load(
        META.replace('"weather"', "no")
        + "owner: 12:30:00\nversion: 1_000\nmetadata: {a: NO, b: on, c: 2024-01-01, d: 0o17, e: 1e3}\n"
    )
    assert (made.name, made.owner, made.version) == ("no", "12:30:00", "1_000")
    assert made.metadata == {"a": "NO", "b": "on", "c": "2024-01-01", "d": 15, "e": 1000.0}
    assert "only YAML 1.2 is read" in problems(f"%YAML 1.1\n---\n{META}")


def test_every_option_of_a_tool_is_accepted():
    made = load(
        META
        + """\
when_to_use: |
  Before a walk.
version: "1.2"
effect: read
timeout_s: 2.5
stall_s: 0.5
retryable: false
max_attempts: 5
isolation: process
requires: [weather.read]
idempotency: [city]
rate: 10/min
max_parallel: 2
cache_s: 60
accepts_overrides: false
metadata: {team: sky}
parameters:
  - {name: city, type: string, description: Where}
examples:
  - {description: At home, input: {city: Oslo}}
"""
    )
    assert made.when_to_use == "Before a walk.\n"
    assert (made.version, made.effect, made.timeout_s, made.retryable) == ("1.2", Effect.READ, 2.5, False)
    assert made.stall_s == 0.5
    assert (made.max_attempts, made.isolation, made.requires) == (5, "process", ("weather.read",))
    assert (made.idempotency, made.rate, made.max_parallel, made.cache_s) == (("city",), "10/min", 2, 60.0)
    assert (made.accepts_overrides, made.metadata) == (False, {"team": "sky"})
    assert made.examples == (ToolExample(description="At home", input={"city": "Oslo"}),)


def test_a_parameter_takes_the_keywords_of_json_schema():
    made = load(
        META
        + """\
parameters:
  - name: days
    type: array
    description: Which days
    minItems: 1
    uniqueItems: true
    items: {type: integer, minimum: 1, maximum: 7}
  - name: place
    type: object
    description: Where
    required: [city]
    additionalProperties: false
    properties:
      city: {type: string, pattern: "^[A-Z]"}
"""
    )
    assert made.input_schema["required"] == ["days", "place"]
    assert made.input_schema["properties"]["place"]["required"] == ["city"]
    good = {"days": [1, 7], "place": {"city": "Oslo"}}
    assert made.validate(good) == ValidArguments(good)
    for bad in ({"days": [8]}, {"days": [1, 1]}, {"place": {"city": "oslo"}}, {"place": {"town": "Oslo"}}):
        assert not isinstance(made.validate({**good, **bad}), ValidArguments)


@pytest.mark.parametrize("text", ["", "parameters:\n", "parameters: []\n", "returns:\n"])
def test_a_tool_may_have_no_parameters_and_no_returns(text):
    made = load(META + text)
    assert made.input_schema == {"type": "object", "properties": {}}
    assert made.output_schema is None
    assert made.validate("{}") == ValidArguments({})


def test_a_tool_that_was_loaded_is_frozen_and_can_be_replaced():
    made = load(META)
    with pytest.raises(AttributeError, match="a Tool is frozen"):
        made.is_active = True
    changed = made.replace(is_active=True, endpoint="https://example.com/x", description="Other.")
    assert isinstance(changed, YamlTool)
    assert (made.is_active, made.endpoint, made.description) == (False, None, "Tells the weather.")
    assert (changed.is_active, changed.endpoint, changed.description) == (
        True,
        "https://example.com/x",
        "Other.",
    )
    with pytest.raises(
        DefinitionError, match=r"^tool 'weather': share 'all' is not one of private, org, public"
    ):
        made.replace(share="all")
    with pytest.raises(DefinitionError, match="'parameters' cannot be replaced"):
        made.replace(parameters=[])


# --- folders ---


def test_a_missing_folder_or_a_file_is_reported():
    write(META)
    for path in ("no", "weather.yaml", ""):
        with pytest.raises(DefinitionError, match=r"the folder cannot be read: .*Fix: name a folder"):
            load_tools(path)


def test_the_problems_of_all_files_in_a_folder_are_reported_at_once():
    write(META, "a.yaml")
    write("id: b\nname: B\n", "b.yaml")
    write(META.replace("weather", "c") + "share: all\ntags: 5\n", "c.yml")
    with pytest.raises(DefinitionError) as caught:
        load_tools(".")
    assert [line.partition(". Fix")[0] for line in str(caught.value).splitlines()] == [
        "./b.yaml:1: 'description' is missing",
        "./c.yml:4: share 'all' is not one of private, org, public",
        "./c.yml:5: tags: 5 is not a list of names",
    ]


def test_an_id_in_two_files_is_refused_with_both_named():
    write(META, "a.yaml")
    write(f"# a copy\n{META}", "b.yaml")
    told = r"^tools/b\.yaml:2: the id 'weather' is taken by tools/a\.yaml:1\. Fix: give each file its own id"
    Path("tools").mkdir()
    for name in ("a.yaml", "b.yaml"):
        Path(name).rename(f"tools/{name}")
    with pytest.raises(DefinitionError, match=told):
        load_tools("tools")


def test_on_error_gets_the_problems_and_the_other_files_are_loaded():
    for name in "abcde":
        write(META.replace("weather", name), f"{name}.yaml")
    write("id: [", "b.yaml")
    write(META.replace("weather", "d"), "e.yaml")
    errors: list[DefinitionError] = []
    assert [made.name for made in load_tools(".", on_error=errors.append)] == ["a", "c"]
    assert [str(error).partition(": ")[0] for error in errors] == ["./b.yaml:1", "./e.yaml:1"]


def test_a_folder_is_read_by_name_and_only_its_visible_yaml_files(folder):
    for name in ("b.yml", "a.yaml", ".hidden.yaml", "c.yaml.tmp", "d.txt"):
        write(META.replace("weather", name[0] if name[0] != "." else "h"), name)
    (folder / "inner").mkdir()
    write(META, "inner/e.yaml")
    made = load_tools(folder)
    assert [tool.name for tool in made] == ["a", "b"]
    assert made[0].source == f"file {folder / 'a.yaml'}"
    (folder / "empty").mkdir()
    assert load_tools("empty") == []


# --- around it ---


def test_without_ruamel_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    monkeypatch.delitem(sys.modules, "toolhaft.define.yaml.events")
    with pytest.raises(ImportError, match=r"^YAML tools need ruamel\.yaml: pip install 'toolhaft\[yaml\]'$"):
        importlib.import_module("toolhaft.define.yaml.events")


def test_file_that_does_not_know_its_size_is_read(tmp_path):
    facts = Path("/proc/self/status")
    if not facts.is_file():
        pytest.skip("this system has no /proc")
    assert facts.stat().st_size == 0
    assert "the file is empty" not in str(lint_file(facts))


def test_parameter_schemas_that_were_valid_before_are_still_checked_with_their_own_defaults():
    parameter = "parameters:\n  - {{name: a, type: integer, description: {0}, minimum: 1, default: {1}}}\n"
    written = META + parameter
    for text, default, is_valid in [
        ("One", 1, True),
        ("Two", 1, True),
        ("One", 0, False),
        ("Two", 0, False),
        ("One", '"1"', False),
    ]:
        with in_case(text, default):
            found = [
                problem for problem in lint_text(written.format(text, default)) if problem.level == "error"
            ]
            assert not found if is_valid else "parameter 'a'" in found[0].problem
