"""Hostile YAML files: alias bombs, tags and huge files are refused early, with file and line."""

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolhaft.define.yaml import document, load_tool
from toolhaft.define.yaml.events import read_events
from toolhaft.errors import DefinitionError

META = 'id: "weather"\nname: "Weather"\ndescription: "Tells the weather."\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(text):
    Path("weather.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_tool("weather.yaml")


def problems(text):
    with pytest.raises(DefinitionError) as caught:
        load(text)
    return str(caught.value)


def tower(first, floor):
    """Nine levels, each with nine aliases of the one below."""
    names = "abcdefghi"
    floors = [floor(",".join([f"*{below}"] * 9)) for below in names[:-1]]
    return "metadata:\n" + "".join(
        f"  {name}: &{name} {value}\n" for name, value in zip(names, [first, *floors], strict=True)
    )


BOMBS = {
    "laughs": (tower("[x, x, x]", lambda below: f"[{below}]"), 9, "more than 10000 values, aliases written out"),
    "merges": (tower("{x: 1}", lambda below: f"{{<<: [{below}]}}"), 9, "more than 10000 values"),
    "keys": (tower("{x: 1}", lambda below: f"{{k: [{below}]}}"), 9, "more than 10000 values"),
    "long texts": (f"owner: &a {'x' * 20_000}\ntags: [{','.join(['*a'] * 5000)}]\n", 5, "more than 10000 values"),
    "itself": ("tags: &a [*a]\n", 4, "the alias *a is inside its own anchor"),
    "itself merged": ("metadata: &a {<<: *a}\n", 4, "the alias *a is inside its own anchor"),
    "itself as a key": ("metadata: &a {? *a : 1}\n", 4, "the alias *a is inside its own anchor"),
    "deep": (f"tags: {'[' * 900_000}\n", 4, "nested more than 64 deep"),
    "deep block": (f"tags: \n  {'- ' * 400_000}\n", 5, "nested more than 64 deep"),
    "deep by aliases": (
        "".join(
            f"a{number}: &a{number} {'[' * 50}{f'*a{number - 1}' if number else 'x'}{']' * 50}\n"
            for number in range(3)
        ),
        5,
        "nested more than 64 deep",
    ),
    "wide": (f"tags: [{'a,' * 50_000}]\n", 4, "more than 10000 values"),
    "python tag": ("owner: !!python/object/apply:os.system ['true']\n", 4, "the tag '!!python/object/apply:os.system'"),
    "python name": ("owner: !!python/name:os.system\n", 4, "is not allowed. Fix: take it out"),
    "own tag": ("owner: !me {a: b}\n", 4, "the tag '!me' is not allowed"),
    "binary": ("owner: !!binary aGVsbG8=\n", 4, "the tag '!!binary' is not allowed"),
    "verbatim tag": ("owner: !<tag:yaml.org,2002:python/none> x\n", 4, "is not allowed"),
    "long tag": (f"owner: {'!' * 900_000}\n", 4, "is not allowed"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "told"), BOMBS.values(), ids=BOMBS)
def test_an_alias_bomb_or_a_tag_is_refused_after_few_events(text, line, told, monkeypatch):
    events = []

    def counted(text):
        for event in read_events(text):
            events.append(event)
            yield event

    monkeypatch.setattr(document, "read_events", counted)
    found = problems(META + text)
    assert found.startswith(f"weather.yaml:{line}: ")
    assert told in found
    assert len(found) < 400
    assert len(events) < 2 * document.MAX_WEIGHT


@pytest.mark.parametrize("name", ["laughs", "merges", "keys", "long texts"])
def test_a_bomb_of_aliases_takes_little_memory(name):
    load(META)
    tracemalloc.start()
    try:
        problems(META + BOMBS[name][0])
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_anchors_aliases_and_merge_keys_work():
    made = load(
        META
        + """\
metadata:
  base: &base {type: string, description: Text}
  again: *base
  "<<": only a word here
parameters:
  - {name: a, <<: *base}
  - <<: [*base, {type: integer, minimum: 1}]
    name: b
    description: Own words win
"""
    )
    assert made.metadata["again"] == {"type": "string", "description": "Text"}
    assert made.metadata["<<"] == "only a word here"
    assert made.input_schema["properties"] == {
        "a": {"type": "string", "description": "Text"},
        "b": {"type": "string", "description": "Own words win", "minimum": 1},
    }


def test_an_anchor_may_be_used_again_for_another_value():
    made = load(META + "metadata: {a: &x 1, b: *x, c: &x 2, d: *x}\n")
    assert made.metadata == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_an_escaped_surrogate_pair_is_one_character():
    assert load(META + 'owner: "\\ud83d\\ude00"\n').owner == "\N{GRINNING FACE}"


def test_a_named_pipe_is_refused_without_waiting():
    os.mkfifo("pipe.yaml")
    with pytest.raises(DefinitionError, match=r"^pipe\.yaml:1: this is not a regular file"):
        load_tool("pipe.yaml")


def test_a_file_over_1_mb_is_refused():
    assert problems(META + "#" * 1_000_000) == (
        "weather.yaml:1: the file is larger than 1 MB. Fix: keep it within 1,000,000 bytes"
    )


def test_at_most_a_hundred_problems_are_reported():
    lines = problems(META + "".join(f"key{number}: 1\n" for number in range(1000))).splitlines()
    assert (len(lines), lines[-1]) == (101, "weather.yaml: and 900 more")


SIGNS = [*"-?:,[]{}#&*!|>'\"%@` \t\n\r\\ab01.~<", "\n  ", "- ", ": ", "---\n", "<<: ", "*a", "&a ", META]
YAML_LIKE = st.lists(st.sampled_from(SIGNS) | st.text(max_size=3), max_size=40).map("".join)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | YAML_LIKE | YAML_LIKE.map(lambda text: META + text))
def test_any_text_is_a_tool_or_a_definition_error_with_its_lines(text):
    told = []
    try:
        load(text.encode("utf-8", "replace"))
    except DefinitionError as error:
        told = str(error).split("\n")
    assert [line for line in told if not line.startswith("weather.yaml:")] == []


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary())
def test_any_bytes_are_refused_as_a_definition_error(data):
    assert problems(data).startswith("weather.yaml:")
