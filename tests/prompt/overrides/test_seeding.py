"""A seeded file has every current text, and never overwrites another file."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.prompt.overrides.kit import (
    ADD,
    BY_PATH,
    DETAILS,
    GUIDANCE,
    LONG,
    SEARCH,
    every_node,
    prompt,
    search,
    write,
)
from toolhaft import Tool
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import MarkdownSection, OverrideStore, Prompt
from toolhaft.prompt.overrides import apply_overrides, section_digest, tool_digest
from toolhaft.prompt.overrides.documents import read_document, write_document
from toolhaft.prompt.overrides.store import overridable_texts
from toolhaft.prompt.tree import build_tree

SEEDED = {
    "prompt": "demo",
    "sections": {
        "guidance": {"digest": GUIDANCE, "text": "Be brief."},
        "guidance.details": {"digest": DETAILS, "text": "More on $topic.", "summary": "On $topic."},
        "counted": {"digest": section_digest(BY_PATH["counted"]), "summary": "Counts."},
    },
    "tools": {
        "search": {
            "digest": SEARCH,
            "description": "Search the shelves.",
            "parameters": {"query": None, "limit": None},
            "examples": [
                {
                    "description": "One",
                    "input": {"query": "hafts", "limit": 1},
                    "output": {"titles": ["hafts"]},
                }
            ],
        },
        "add": {
            "digest": ADD,
            "description": "Add two numbers.",
            "parameters": {"left": "the first", "right": "the second"},
            "examples": None,
        },
    },
}


def told(function):
    with pytest.raises(PromptValidationError) as caught:
        function()
    return str(caught.value)


def test_a_seeded_file_has_every_text_that_may_be_overridden():
    path = OverrideStore("prompts").seed(prompt())
    assert path == Path("prompts/demo/stable.json")
    assert json.loads(path.read_text()) == SEEDED
    assert os.listdir("prompts/demo") == ["stable.json"]  # noqa: PTH208 -- no draft is left


def test_a_seeded_yaml_file_has_the_same_texts():
    path = OverrideStore("prompts", tag="draft").seed(prompt(), format="yaml")
    assert path == Path("prompts/demo/draft.yaml")
    assert read_document(path.read_bytes(), str(path)) == SEEDED
    assert path.read_text().startswith('prompt: "demo"\nsections:\n  guidance:\n    digest: "')


@pytest.mark.parametrize("format", ["json", "yaml"])
def test_a_seeded_file_changes_nothing_until_it_is_edited(format):
    store = OverrideStore("prompts")
    before = prompt().render()
    path = store.seed(prompt(), format=format)
    after = prompt(store).render()
    assert after.text == before.text
    assert [tool_digest(tool) for tool in after.tools] == [tool_digest(tool) for tool in before.tools]
    path.write_text(path.read_text().replace("Be brief.", "Be quick."))
    assert "Be quick." in prompt(store).render().text


def test_a_prompt_with_overrides_is_seeded_as_it_is_written_in_the_code():
    write({"sections": {"guidance": {"digest": GUIDANCE, "text": "New."}}})
    asked = prompt(OverrideStore("prompts"))
    assert "New." in asked.render().text
    path = OverrideStore("prompts", tag="draft").seed(asked)
    assert json.loads(path.read_text()) == SEEDED


@pytest.mark.parametrize("ending", ["json", "yaml", "yml"])
@pytest.mark.parametrize("format", ["json", "yaml"])
def test_an_existing_file_is_never_overwritten(format, ending):
    file = f"prompts/demo/stable.{ending}"
    write("mine", file)
    message = told(lambda: OverrideStore("prompts").seed(prompt(), format=format))
    assert (
        message
        == f"{file}: the file exists already, and is not overwritten. Fix: edit it, or move it away and seed again"
    )
    assert Path(file).read_text() == "mine"
    assert os.listdir("prompts/demo") == [f"stable.{ending}"]  # noqa: PTH208 -- nothing beside it


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_dangling_link_is_not_overwritten(ending):
    Path("prompts/demo").mkdir(parents=True)
    Path(f"prompts/demo/stable.{ending}").symlink_to("../../outside.json")
    assert "the file exists already" in told(lambda: OverrideStore("prompts").seed(prompt()))
    assert not Path("outside.json").exists()


def test_a_file_that_appears_meanwhile_is_not_overwritten(monkeypatch):
    def raced(draft, target):
        Path(target).write_text("mine")
        raise FileExistsError

    monkeypatch.setattr("toolhaft.prompt.overrides.store.os.link", raced)
    assert "the file exists already" in told(lambda: OverrideStore("prompts").seed(prompt()))
    assert Path("prompts/demo/stable.json").read_text() == "mine"
    assert os.listdir("prompts/demo") == ["stable.json"]  # noqa: PTH208 -- no draft is left


def test_a_full_disk_leaves_no_file(monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device", "/secret/place")

    monkeypatch.setattr("toolhaft.prompt.overrides.store.os.fsync", full)
    message = told(lambda: OverrideStore("prompts").seed(prompt()))
    assert message == (
        "prompts/demo/stable.json: the file cannot be written: No space left on device. "
        "Fix: check the folder and its permissions"
    )
    assert os.listdir("prompts/demo") == []  # noqa: PTH208 -- the draft too is gone


def test_a_file_instead_of_the_folder_is_reported():
    write("x", "prompts")
    assert "the file cannot be written: " in told(lambda: OverrideStore("prompts").seed(prompt()))


def test_a_folder_linked_outside_is_not_written_to():
    Path("elsewhere").mkdir()
    Path("prompts").mkdir()
    Path("prompts/demo").symlink_to("../elsewhere", target_is_directory=True)
    assert "a link leads out of the folder" in told(lambda: OverrideStore("prompts").seed(prompt()))
    assert os.listdir("elsewhere") == []  # noqa: PTH208 -- nothing was written


def test_an_unknown_format_is_refused():
    message = told(lambda: OverrideStore("prompts").seed(prompt(), format="toml"))
    assert message == "'toml' is not a format for overrides. Fix: use 'json' or 'yaml'"


def test_a_name_that_could_leave_the_folder_is_not_seeded():
    asked = SimpleNamespace(name="../demo", nodes=())
    assert "cannot be the name of a prompt" in told(lambda: OverrideStore("prompts").seed(asked))


@pytest.mark.parametrize("format", ["json", "yaml"])
@pytest.mark.parametrize("template", ["\ud800", "x" * 1_000_001], ids=["half", "long"])
def test_a_text_that_cannot_be_read_back_is_not_written(template, format):
    asked = Prompt(name="demo", sections=[MarkdownSection(title="A", key="a", template=template)])
    message = told(lambda: OverrideStore("prompts").seed(asked, format=format))
    assert message.startswith(f"prompts/demo/stable.{format}: the file could not be read back: ")
    assert message.endswith("Fix: seed it as JSON, or shorten and fix its texts")
    assert not Path("prompts").exists()


def test_a_prompt_too_large_for_yaml_is_seeded_as_json():
    texts = [MarkdownSection(title="A", key=f"a{number}", template="x" * 6400) for number in range(100)]
    asked = Prompt(name="demo", sections=texts)
    message = told(lambda: OverrideStore("prompts").seed(asked, format="yaml"))
    assert "more than 10000 values" in message
    assert "Fix: seed it as JSON" in message
    OverrideStore("prompts").seed(asked)
    assert len(OverrideStore("prompts").load("demo").sections) == 100


def test_an_impossible_folder_name_is_reported():
    message = told(lambda: OverrideStore("a\0b").seed(prompt()))
    assert re.search("the file cannot be written: .*embedded null", message)


def test_examples_without_a_json_form_are_seeded_as_null():
    odd = Tool(name="odd", description="Odd.", examples=[{"input": {}, "output": object()}])
    bare = Tool(name="bare", description="Bare.", input_schema={"type": "object", "properties": {"a": True, "b": {"description": ""}}})  # fmt: skip
    nodes = build_tree([MarkdownSection(title="A", key="a", tools=[odd, bare, search])])
    tools = overridable_texts("demo", nodes)["tools"]
    assert tools["odd"] == {"digest": tool_digest(odd), "description": "Odd.", "examples": None}
    assert tools["bare"]["parameters"] == {"b": None}


def test_the_first_of_tools_with_one_name_is_seeded():
    other = Tool(name="search", description="Search elsewhere.")
    nodes = build_tree(
        [MarkdownSection(title=key, key=key, tools=[tool]) for key, tool in (("a", other), ("b", search))]
    )
    assert overridable_texts("demo", nodes)["tools"]["search"]["description"] == "Search elsewhere."


texts = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(max_examples=1_000 if LONG else 30)
@given(texts, texts.filter(str.strip), texts.filter(str.strip), st.sampled_from(["json", "yaml"]))
def test_any_prompt_is_seeded_and_read_back_the_same(template, summary, description, format):
    from toolhaft.prompt.overrides.parse import parse_overrides  # noqa: PLC0415 -- the judge

    template, summary = template.replace("$", "$$"), summary.replace("$", "$$")
    tool = Tool(name="t", description=description, examples=[{"input": {}, "output": template}])
    nodes = build_tree(
        [MarkdownSection(title="A", key="a", template=template, summary=summary, tools=[tool])]
    )
    file = f"x.{format}"
    value = read_document(write_document(overridable_texts("demo", nodes), file).encode(), file)
    found = every_node(apply_overrides(nodes, parse_overrides(value, file=file, prompt="demo")))
    assert section_digest(found["a"]) == section_digest(nodes[0])
    assert tool_digest(found["a"].tools[0]) == tool_digest(tool)
