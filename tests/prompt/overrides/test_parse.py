"""The content of an override file, and how each problem in it is reported."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import ruamel.yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.prompt.overrides.kit import ADD, DETAILS, GUIDANCE, LONG, NODES, SEARCH, load, refused
from toolhaft import ToolExample
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import OverrideStore
from toolhaft.prompt.overrides import Overrides, SectionOverride, ToolOverride, apply_overrides
from toolhaft.prompt.overrides.documents import FileProblems

FILE = "prompts/demo/stable.json"
YAML = "prompts/demo/stable.yaml"
ZERO = "0" * 16


def section(**entry):
    return {"sections": {"guidance": {"digest": GUIDANCE, **entry}}}


def tool(**entry):
    return {"tools": {"search": {"digest": SEARCH, **entry}}}


WHOLE = f"""
prompt: demo
sections:
  guidance.details:
    digest: "{DETAILS}"
    text: |
      New text
      with $topic.
    summary: "  Shorter. "
tools:
  search:
    digest: "{SEARCH}"
    description: Seek.
    parameters: {{query: What to seek}}
    examples:
      - {{description: Two, input: {{query: a, limit: 2}}, output: {{titles: [a, a]}}}}
      - input: {{query: b}}
"""

SAID = Overrides(
    file=YAML,
    sections={
        "guidance.details": SectionOverride(digest=DETAILS, text="New text\nwith $topic.", summary="Shorter.")
    },
    tools={
        "search": ToolOverride(
            digest=SEARCH,
            description="Seek.",
            parameters={"query": "What to seek"},
            examples=(
                ToolExample(
                    description="Two", input={"query": "a", "limit": 2}, output={"titles": ["a", "a"]}
                ),
                ToolExample(input={"query": "b"}),
            ),
        )
    },
)


def test_a_yaml_file_can_have_every_override():
    assert load(WHOLE, YAML) == SAID


@pytest.mark.parametrize("ending", ["yaml", "yml", "json"])
def test_yaml_and_json_give_the_same_overrides(ending):
    text = WHOLE if ending != "json" else json.dumps(_value(WHOLE))
    found = load(text, f"prompts/demo/stable.{ending}")
    assert (found.sections, found.tools) == (SAID.sections, SAID.tools)
    assert found.file == f"prompts/demo/stable.{ending}"


def _value(text):
    return ruamel.yaml.YAML(typ="safe", pure=True).load(text)  # another reader, as a judge


@pytest.mark.parametrize(
    "value", [{}, {"prompt": "demo"}, {"sections": None, "tools": None}, {"sections": {}, "tools": {}}]
)
def test_a_file_may_have_no_overrides(value):
    assert load(value) == Overrides(file=FILE)


def test_null_keeps_the_text():
    found = load(
        {
            **section(text=None, summary=None),
            **tool(description=None, parameters={"query": None}, examples=None),
        }
    )
    assert found.sections == {"guidance": SectionOverride(digest=GUIDANCE)}
    assert found.tools == {"search": ToolOverride(digest=SEARCH)}


def test_an_empty_text_is_a_text_and_no_examples_are_examples():
    found = load({**section(text=" "), **tool(examples=[])})
    assert found.sections["guidance"].text == ""
    assert found.tools["search"].examples == ()


NEVER = "names and types are never overridden"
MISSING = "the digest of what it replaces is missing. Fix: OverrideStore.seed writes a file with every digest"

REFUSED = [
    ([], "it must be a mapping, not []. Fix: write prompt: ..., sections: ... and tools: ..."),
    (None, "it must be a mapping, not null"),
    ({"prompt": "other"}, 'prompt: it is for the prompt "other", but its path is that of "demo". Fix: move the file'),
    ({"prompt": 5}, "prompt: it is for the prompt 5"),
    ({"section": {}}, f"\"section\" cannot be overridden. Fix: did you mean 'sections'? only prompt, sections, tools can be given; {NEVER}"),
    ({"sections": []}, "sections: it must be a mapping, not []. Fix: write dotted.path: {digest: ..., text: ...}"),
    ({"tools": "x"}, 'tools: it must be a mapping, not "x". Fix: write name: {digest: ..., description: ...}'),
    ({"sections": {"guidance": "New."}}, 'section "guidance": it must be a mapping, not "New.". Fix: write {digest: ...'),
    ({"sections": {"guidance": None}}, f'section "guidance": {MISSING}'),
    ({"sections": {"guidance": {"text": "New."}}}, f'section "guidance": {MISSING}'),
    ({"tools": {"search": {"description": "New."}}}, f'tool "search": {MISSING}'),
    (section(digest=123), 'section "guidance", digest: it must be text, not 123. Fix: put it in quotes'),
    (section(digest="abc"), 'section "guidance", digest: "abc" is not a digest. Fix: write the 16 hexadecimal digits'),
    (section(digest=GUIDANCE.upper() + "é"), "is not a digest"),
    (section(text=["a"]), 'section "guidance", text: it must be text, not ["a"]. Fix: write the text, in quotes, or leave it out'),
    (section(summary=5), 'section "guidance", summary: it must be text, not 5'),
    (section(summary=" "), 'section "guidance", summary: it is empty. Fix: write the text, or leave it out to keep'),
    (section(title="T"), f'section "guidance": "title" cannot be overridden. Fix: only digest, text, summary can be given; {NEVER}'),
    (section(key="k"), '"key" cannot be overridden'),
    (section(txt="k"), "\"txt\" cannot be overridden. Fix: did you mean 'text'?"),
    (tool(name="find"), f'tool "search": "name" cannot be overridden. Fix: only digest, description, parameters, examples can be given; {NEVER}'),
    (tool(input_schema={}), '"input_schema" cannot be overridden'),
    (tool(title="T"), '"title" cannot be overridden'),
    (tool(effect="read"), '"effect" cannot be overridden'),
    (tool(description=7), 'tool "search", description: it must be text, not 7'),
    (tool(description=""), 'tool "search", description: it is empty'),
    (tool(parameters=["query"]), f'tool "search", parameters: it must be a mapping, not ["query"]. Fix: write name: description; {NEVER}'),
    (tool(parameters={"query": {"type": "integer"}}), 'tool "search", parameter "query": it must be text, not {"type":"integer"}. Fix: write the text, in quotes, or leave it out; names and types'),
    (tool(parameters={"query": ""}), 'parameter "query": it is empty'),
    (tool(examples={}), 'tool "search", examples: it must be a list, not {}. Fix: write a list of {description: ..., input'),
    (tool(examples=[5]), 'tool "search", example 1: it must be a mapping, not 5'),
    (tool(examples=[None]), 'tool "search", example 1: it must be a mapping'),
    (tool(examples=[{"output": 1}]), "tool \"search\", example 1: 'input' is missing. Fix: add input: {...}"),
    (tool(examples=[{"input": {}, "inputs": 1}]), "\"inputs\" cannot be overridden. Fix: did you mean 'input'?"),
    (tool(examples=[{"input": {}, "description": 1}]), "example 1, description: it must be text, not 1"),
]  # fmt: skip


@each_case(
    ("value", "told"), REFUSED, ids=lambda part: None if isinstance(part, str) else json.dumps(part)[:50]
)
def test_each_problem_of_a_file_is_reported_with_place_and_fix(value, told):
    message = refused(value)
    assert message.startswith(f"{FILE}: ")
    assert told in message
    assert "Fix: " in message
    assert "\n" not in message  # one slip, one problem


def test_every_problem_of_a_file_is_reported_at_once():
    value = {"prompt": "other", **section(title="T", summary=5), **tool(name="x", examples=[{}])}
    lines = refused(value).splitlines()
    assert lines[0] == f"{FILE}: 5 problems:"
    assert [line[:22] for line in lines[1:]] == [
        "- prompt: it is for th",
        '- section "guidance": ',
        '- section "guidance", ',
        '- tool "search": "name',
        '- tool "search", examp',
    ]


def test_a_message_is_bounded_however_much_is_wrong():
    for value in (
        {f"key {number}" * 50: 1 for number in range(1000)},
        {f"k{number}": 1 for number in range(1000)},
        {"sections": {f"path{number}" * 30: 1 for number in range(20)}},
        {"sections": {"é" * 100_000: 1}},
    ):
        message = refused(value)
        assert len(message.encode()) <= 2000
        assert message.startswith(FILE)
        if len(value) > 1:
            assert message.endswith("\n- and more, listed once these are fixed")


def test_reading_stops_after_many_problems():
    found = FileProblems("x.json")
    for number in range(20):
        found.add(f"key {number}", "wrong", "")
    with pytest.raises(PromptValidationError, match=r"^x\.json: many problems:\n- key 0: wrong\n"):
        found.add("key 20", "wrong", "")


def test_control_characters_cannot_add_lines_to_the_message():
    message = refused({"sections": {"x\ny": {"digest": ZERO, "a\nb": 1}}, "tools": {"t\n": 1}})
    assert len(message.splitlines()) == 3


@each_case(
    ("text", "told"),
    [
        ("", "this is not JSON: "),
        ("{", "this is not JSON: EOF while parsing an object at line 1 column 1. Fix: check the quotes, commas and brackets"),
        ("{'a': 1}", "this is not JSON: "),
        ('{"a": NaN}', "this is not JSON: "),
        ('{"a": "\\ud800"}', "this is not JSON: "),
        ("[" * 5000, "this is not JSON: "),
        ("1" * 5000, "this is not JSON: "),
        ('{"tools": {}, "tools": {}}', "tools: the key is given twice. Fix: keep one of the two"),
        ('{"sections": {"a": {"text": "x", "text": "y"}}}', "sections.a.text: the key is given twice"),
        ('{"tools": {"search": {"examples": [{"input": 1e999}]}}}', "tools.search.examples[0].input: the number has no finite value"),
        (b'{"a": "\xff"}', "line 1: the text is not UTF-8. Fix: save the file as UTF-8"),
        (b"{\n\xff", "line 2: the text is not UTF-8"),
        (" " * 1_000_001, "the file is larger than 1 MB. Fix: keep it within 1,000,000 bytes"),
    ],
    ids=lambda part: repr(part)[:40],
)  # fmt: skip
def test_a_file_that_is_not_json_is_refused(text, told):
    message = refused(text)
    assert message.startswith(f"{FILE}: ")
    assert told in message


@each_case(
    ("text", "told"),
    [
        ("", "line 1: the file is empty. Fix: write prompt: ..., sections: ... and tools: ..., or remove the file"),
        ("a: 1\n---\nb: 2\n", "a second document starts here. Fix: keep one prompt in one file"),
        ("tools: {}\ntools: {}\n", "line 2: the key 'tools' is given twice (first on line 1). Fix: keep one of the two"),
        ("sections:\n  a: {text: x, text: y}\n", "line 2: the key 'text' is given twice"),
        ("tools: !!python/object:os.system {}\n", "line 1: the tag "),
        ("tools: [\n", "this is not YAML"),
        ("tools:\n\tsearch: {}\n", "indent with spaces, not tabs"),
        ("a: &a [x]\n" + "".join(f"{k}: &{k} [{','.join(['*' + j] * 9)}]\n" for j, k in zip("abcdef", "bcdefg", strict=True)), "more than 10000 values"),
        (f"sections: {{guidance: {{digest: {'1' * 16}}}}}\n", "digest: it must be text, not 1111111111111111. Fix: put it in quotes"),
        (f"sections: {{guidance: {{digest: 12e{'1' * 13}}}}}\n", "is not a number in JSON. Fix: give a finite number, or quote it"),
        ("x" * 1_000_001, "the file is larger than 1 MB"),
    ],
    ids=lambda part: repr(part)[:40],
)  # fmt: skip
def test_a_file_that_is_not_safe_yaml_is_refused(text, told):
    message = refused(text, YAML)
    assert message.startswith(f"{YAML}: ")
    assert told in message


def test_a_byte_order_mark_is_passed_over():
    assert load(b"\xef\xbb\xbf{}") == Overrides(file=FILE)


@pytest.mark.external
def test_without_ruamel_a_yaml_file_names_the_extra_and_json_is_read():
    load("prompt: demo\n", YAML)
    code = (
        "import sys\n"
        "sys.modules['ruamel.yaml'] = None\n"
        "from pathlib import Path\n"
        "from toolhaft.prompt import OverrideStore\n"
        "try:\n"
        "    OverrideStore('prompts').load('demo')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
        "Path('prompts/demo/stable.yaml').unlink()\n"
        "Path('prompts/demo/stable.json').write_text('{}')\n"
        "print(OverrideStore('prompts').load('demo').file)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"{YAML}: YAML needs ruamel.yaml. Fix: pip install 'toolhaft[yaml]', or use JSON",
        FILE,
    ]


def test_without_ruamel_nothing_is_read_or_seeded_as_yaml(monkeypatch):
    from tests.prompt.overrides.kit import prompt  # noqa: PLC0415 -- beside its only use

    monkeypatch.setitem(sys.modules, "toolhaft.define.yaml.document", None)
    monkeypatch.setitem(sys.modules, "toolhaft.define.yaml.emitter", None)
    assert "pip install 'toolhaft[yaml]'" in refused("prompt: demo\n", YAML)
    Path(YAML).unlink()
    with pytest.raises(PromptValidationError, match=r"pip install 'toolhaft\[yaml\]'"):
        OverrideStore("prompts").seed(prompt(), format="yaml")


def test_a_long_place_is_cut():
    problems = FileProblems(FILE)
    problems.add("x" * 5_000, "it is wrong", "correct it")
    with pytest.raises(PromptValidationError) as caught:
        problems.raise_if_any()
    assert str(caught.value) == f"{FILE}: {'x' * 197}...: it is wrong. Fix: correct it"


EXAMPLES = 1_000 if LONG else 30
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
words = st.sampled_from(
    ["prompt", "demo", "sections", "tools", "digest", "text", "summary", "description", "parameters", "examples", "input",
     "output", "guidance", "guidance.details", "search", "add", "query", SEARCH, ADD, GUIDANCE, DETAILS, "$topic", "$x", "$"]
)  # fmt: skip
anything = st.recursive(
    scalars | words,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)
entries = st.fixed_dictionaries(
    {}, optional={"digest": words, "text": words | anything, "summary": words | anything}
)
near = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.just("demo") | anything,
        "sections": st.dictionaries(words, entries | anything, max_size=3),
        "tools": st.dictionaries(
            words,
            st.fixed_dictionaries(
                {"digest": words},
                optional={
                    "description": words | anything,
                    "parameters": st.dictionaries(words, words | anything, max_size=3),
                    "examples": st.lists(st.fixed_dictionaries({"input": anything}) | anything, max_size=3),
                },
            ),
            max_size=3,
        ),
    },
)


def _judge(data, ending):
    """Whatever a file says: sections, or a refusal that is short and names the file."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "demo", f"stable.{ending}")
        file.parent.mkdir()
        file.write_bytes(data)
        try:
            found = OverrideStore(folder).load("demo")
            assert len(apply_overrides(NODES, found)) == len(NODES)
            told = str(file)
        except PromptValidationError as error:
            told = str(error)
    assert told.startswith(str(file))
    assert len(told.encode()) <= 2000


@settings(max_examples=EXAMPLES)
@given(anything | near)
def test_any_json_is_read_or_refused(value):
    _judge(json.dumps(value).encode(), "json")


@settings(max_examples=EXAMPLES)
@given(anything | near)
def test_any_json_in_a_yaml_file_is_read_or_refused(value):
    _judge(json.dumps(value).encode(), "yaml")


@settings(max_examples=EXAMPLES)
@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="replace")),
    st.sampled_from(["json", "yaml"]),
)
def test_any_bytes_are_read_or_refused(data, ending):
    _judge(data, ending)
