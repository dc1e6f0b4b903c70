"""The notes in the messages of the file tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft import ToolCall, ToolExecutor, execute_tool, toolbox
from toolhaft.errors import ResourceMissingError
from toolhaft.resources import Filesystem, ResourceRegistry
from toolhaft.toolbox.files.call_files import hidden_names_note, hidden_note
from toolhaft.toolbox.untrusted_text import counted, hidden_characters

_ANY = st.text(
    st.one_of(st.sampled_from("ab\t\n\u202e\u200f\x1b\x85\ufeff\u2028\U000e0041é€😀"), st.characters())
)


@given(_ANY.map(lambda text: text.replace("\r", "").lstrip("\ufeff")))
def test_what_is_searched_for_in_what_is_left_is_found_as_in_the_whole(text):
    told = ", ".join(hidden_characters(text))
    assert hidden_note(text) == (f"hidden characters in it: {told}" if told else "")
    found = hidden_names_note([text])
    assert found.endswith(told)
    assert bool(found) == bool(told or "\n" in text)


def test_byte_order_mark_inside_a_file_is_reported():
    assert hidden_note("\ufeffx") == ""
    assert hidden_note("\ufeffx", begins_file=False) == "hidden characters in it: U+FEFF"


def test_characters_beyond_what_a_model_gets_are_not_searched():
    beyond = "x" * 100_000 + "\u202e"
    assert hidden_note(beyond) == hidden_names_note([beyond]) == ""


def test_counted_uses_singular_and_plural():
    assert [counted(number, "byte") for number in (0, 1, 2, 12_345)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "12,345 bytes",
    ]
    assert counted(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize("name", ["read_file", "write_file", "list_directory", "file_reader", "file_info"])
@pytest.mark.parametrize("is_absolute", [True, False], ids=["absolute", "relative"])
def test_message_without_files_has_the_line_that_gives_them(tmp_path, monkeypatch, name, is_absolute):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.txt").write_text("x")
    made = getattr(toolbox, name)
    path = "a" if name == "list_directory" else "a/b.txt"
    arguments = {"path": str(tmp_path / path) if is_absolute else path}
    if name == "write_file":
        arguments["content"] = 'it\'s "new"'
    result = execute_tool(made, arguments)
    assert not result.success
    line = result.message.partition("Fix: ")[2].partition(" # ToolExecutor")[0]
    imports, _, expression = line.partition("; ")
    names = {name: made, "execute_tool": execute_tool}
    exec(imports, names)  # noqa: S102 -- the line of the message, which a developer would copy
    assert eval(expression, names).success  # noqa: S307 -- the same


def test_long_arguments_are_not_repeated_in_the_message():
    result = execute_tool(toolbox.write_file, {"path": "a", "content": "x" * 1000})
    assert "execute_tool(write_file, ..., resources=" in result.message


def test_a_filesystem_whose_own_part_is_missing_is_named():
    registry = ResourceRegistry()
    registry.provide(Filesystem, lambda resources: resources[int])
    result = ToolExecutor([toolbox.read_file], resources=registry).execute(
        ToolCall(name="read_file", arguments={"path": "a"})
    )
    assert "no resource int was given" in result.message
    assert isinstance(result.failure.error.__cause__, ResourceMissingError)
