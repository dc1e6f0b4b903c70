"""The flags that `call` makes from a schema, without a process."""

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from tests.cases import in_case
from toolhaft import Tool
from toolhaft.cli.call import ToolCommand
from toolhaft.cli.call_flags import flag_arguments, flags_of
from toolhaft.cli.call_output import error_chain
from toolhaft.cli.completion import complete_tool_ids
from toolhaft.cli.errors import CommandError
from toolhaft.core.result import Failure

PROPERTIES = {
    "city": {"type": "string", "description": "Where"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
    "ratio": {"type": "number"},
    "dry": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "counts": {"type": "array", "items": {"type": "integer"}},
    "where": {"type": "object"},
    "units": {"enum": ["metric", "imperial"]},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "sort_by": {"$ref": "#/$defs/Order"},
    "anything": {},
}
SCHEMA = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["limit"],
    "$defs": {"Order": {"type": "string", "enum": ["up", "down"]}},
}


def read(*typed: str, schema: dict = SCHEMA) -> dict:
    """The arguments that typed flags stand for."""
    flags = flags_of(schema)
    options = [flag.option for flag in flags if flag.option is not None]
    command = click.Command("tool", params=options, callback=lambda **params: flag_arguments(flags, params))
    return command.main([*typed], standalone_mode=False)


def test_flags_are_read_by_their_schema():
    cases = [
        ((), {}),
        (("--city", "Rome"), {"city": "Rome"}),
        (("--city=",), {"city": ""}),
        (("--city", "5"), {"city": "5"}),
        (("--city", "--limit"), {"city": "--limit"}),
        (("--limit", "5"), {"limit": 5}),
        (("--limit", "-5"), {"limit": -5}),
        (("--limit", "five"), {"limit": "five"}),  # the tool's check refuses it, with all else that is wrong
        (("--limit", "NaN"), {"limit": "NaN"}),
        (("--ratio", "1e3"), {"ratio": 1000.0}),
        (("--dry",), {"dry": True}),
        (("--no-dry",), {"dry": False}),
        (("--tags", "a", "--tags", "5"), {"tags": ["a", "5"]}),
        (("--tags", '["a", "b"]'), {"tags": ["a", "b"]}),
        (("--tags", "[a"), {"tags": ["[a"]}),
        (("--tags", '["a"]', "--tags", "b"), {"tags": ['["a"]', "b"]}),
        (("--counts", "[1, 2]"), {"counts": [1, 2]}),
        (("--counts", "[]"), {"counts": []}),
        (("--counts", "1", "--counts", "2"), {"counts": [1, 2]}),
        (("--where", '{"a": [1]}'), {"where": {"a": [1]}}),
        (("--units", "metric"), {"units": "metric"}),
        (("--maybe", "7"), {"maybe": 7}),
        (("--maybe", "null"), {"maybe": None}),
        (("--either", "a"), {"either": "a"}),
        (("--either", "a", "--either", "b"), {"either": ["a", "b"]}),
        (("--sort-by", "up"), {"sort_by": "up"}),
        (("--sort_by", "up"), {"sort_by": "up"}),
        (("--anything", "5"), {"anything": "5"}),
    ]
    for typed, arguments in cases:
        with in_case(typed, arguments):
            assert read(*typed) == arguments


def test_list_of_lists_is_given_whole_or_item_by_item():
    matrix = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"matrix": matrix}}
    assert read("--matrix", "[[1, 2], [3]]", schema=schema) == {"matrix": [[1, 2], [3]]}
    assert read("--matrix", "[1, 2]", schema=schema) == {"matrix": [[1, 2]]}


def test_values_are_read_from_files(tmp_path):
    (tmp_path / "city").write_text("Rome", encoding="utf-8")
    (tmp_path / "counts").write_text("[1, 2]\n", encoding="utf-8")
    assert read("--city", f"@{tmp_path}/city", "--counts", f"@{tmp_path}/counts") == {
        "city": "Rome",
        "counts": [1, 2],
    }
    assert read("--city", "@@rome") == {"city": "@rome"}


def test_a_file_that_cannot_be_read_says_how_to_write_the_text_itself(tmp_path):
    (tmp_path / "latin").write_bytes(b"\xe9")
    cases = [
        (f"{tmp_path}/none", "No such file or directory; for a text that begins with @ write @@"),
        (f"{tmp_path}", "Is a directory"),
        ("null\0", "null"),
        (f"{tmp_path}/latin", "is not UTF-8, starting at byte 0"),
    ]
    for path, message in cases:
        with in_case(path), pytest.raises(CommandError, match=message):
            read("--city", f"@{path}")


def test_repeated_flag_of_a_single_value_is_refused():
    with pytest.raises(click.UsageError, match="--city was given 2 times"):
        read("--city", "a", "--city", "b")


def test_an_unknown_flag_names_the_nearest():
    with pytest.raises(click.NoSuchOption) as error:
        read("--citty", "Rome")
    assert "'--city'" in error.value.format_message()


def test_similar_parameter_names_keep_separate_flags():
    schema = {"type": "object", "properties": {"a_b": {"type": "string"}, "a-b": {"type": "string"}}}
    assert read("--a_b", "1", "--a-b", "2", schema=schema) == {"a_b": "1", "a-b": "2"}


def test_switch_has_no_off_flag_if_that_is_another_parameter():
    schema = {"type": "object", "properties": {"x": {"type": "boolean"}, "no-x": {"type": "boolean"}}}
    assert read("--no-x", schema=schema) == {"no-x": True}


def test_parameters_that_cannot_be_flags_are_given_as_json():
    names = ("json", "dry-run", "timeout", "help", "arg-json", "with space", "ä", "1st", "-x", "a=b", "a/b")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    assert [flag.parameter for flag in flags_of(schema) if flag.option is not None] == []


def test_enum_values_are_completed_if_they_are_plain_words():
    schema = {"type": "object", "properties": {"a": {"enum": ["up", "under", "$(reboot)", "u n"]}}}
    option = flags_of(schema)[0].option
    items = option.type.shell_complete(click.Context(click.Command("x")), option, "u")
    assert [item.value for item in items] == ["up", "under", "u n"]


def test_help_shows_expected_values_and_required_parameters():
    properties = {**PROPERTIES, "json": {"type": "string", "description": "A text"}}
    tool = Tool(name="weather", description="The weather.", input_schema={**SCHEMA, "properties": properties})
    shown = CliRunner().invoke(ToolCommand(tool), ["--help"], terminal_width=100).output
    words = " ".join(shown.split())
    assert words.index("--limit INTEGER") < words.index("--city TEXT Where [a string]")
    assert "--limit INTEGER [an integer from 1 to 100; default: 10; required]" in words
    assert "--dry / --no-dry" in words
    assert "--tags TEXT..." in words
    assert "--counts INTEGER..." in words
    assert "--units [metric|imperial]" in words
    assert "--sort-by [up|down]" in words
    assert "--where JSON" in words
    assert "--arg-json json=JSON A text [a string]" in words
    assert "--dry-run" in words


def test_help_escapes_control_characters():
    evil = "\x1b]0;owned\x07 \u202eabc"
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": evil, "enum": [evil]}}}
    tool = Tool(name="evil", description=f"Evil {evil}", input_schema=schema)
    shown = CliRunner().invoke(ToolCommand(tool), ["--help"]).output
    assert not any(letter in shown for letter in "\x1b\x07\u202e")


def test_completion_offers_only_plain_words_of_a_schema():
    schema = {"properties": {"mood": {"enum": ["calm", "very calm", "$(reboot)", "a;b", "`id`"]}}}
    [flag] = flags_of(schema)
    context = click.Context(click.Command("lk"), info_name="lk")
    offered = flag.option.type.shell_complete(context, flag.option, "")
    assert [item.value for item in offered] == ["calm", "very calm"]


def test_completion_offers_only_ids_that_need_no_quotes(monkeypatch):
    listed = [SimpleNamespace(id=id, description="") for id in ("echo", "e$(id)", "e f")]
    monkeypatch.setattr("toolhaft.cli.completion.local_listings", lambda _: listed)
    assert [item.value for item in complete_tool_ids(None, "e")] == ["echo"]


def test_circular_error_causes_are_bounded():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert len(list(error_chain(Failure(kind="failed", cause=first)))) == 10


def test_flags_are_made_behind_references_and_in_alternatives():
    node = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["limit"],
    }
    schemas = [
        {"type": "object", "$ref": "#/$defs/Node", "$defs": {"Node": node}},
        {"type": "object", "allOf": [{"$ref": "#/$defs/Node"}], "$defs": {"Node": node}},
        {"type": "object", "anyOf": [node, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
    ]
    for schema in schemas:
        with in_case(schema):
            assert read("--city", "5", "--limit", "5", schema=schema) == {"city": "5", "limit": 5}
    assert read("--id", "5", schema=schemas[-1]) == {"id": 5}
    assert [flag.parameter for flag in flags_of(schemas[0])] == ["limit", "city"]
