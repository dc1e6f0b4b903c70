"""Handlers that return images, audio, video and documents."""

import asyncio

import pytest

from tests.cases import in_case
from tests.execute import part_tools
from tests.execute.part_tools import PDF, PNG, WAV
from toolhaft import Image, Tool, ToolCall, ToolExecutor, Video, execute_tool, tool
from toolhaft.formats import encode_results, export_tools

ONE = (part_tools.draw, part_tools.draw_inline, part_tools.draw_unannotated, part_tools.draw_async)
TWO = (
    part_tools.draw_text,
    part_tools.draw_list_unannotated,
    part_tools.draw_list_async,
    part_tools.draw_stream,
    part_tools.draw_async_stream,
)


def check_one(result):
    assert (result.success, result.value, result.content) == (True, PNG, (PNG,))
    assert result.render() == "[image: image/png]"


def check_two(result):
    assert (result.success, result.value, result.content) == (True, ["Two:", PNG, PNG], (PNG, PNG))
    assert result.render() == "Two:"


def test_a_part_is_the_content_and_the_value_of_its_result():
    executor = ToolExecutor([*ONE, *TWO])
    for made in (*ONE, *TWO):
        check = check_one if made in ONE else check_two
        call = ToolCall(id="1", name=made.name, arguments="{}")
        with in_case(made.name):
            assert made.output_schema is None
            check(executor.execute(call))
            check(asyncio.run(executor.aexecute(call)))


@pytest.mark.external
def test_parts_come_out_of_worker_processes():
    tools = [part_tools.draw_in_process, part_tools.draw_list_in_process, part_tools.draw_stream_in_process]
    with ToolExecutor(tools) as executor:
        first, *others = [executor.execute(ToolCall(name=each.name, arguments="{}")) for each in tools]
    check_one(first)
    for result in others:
        check_two(result)


def test_every_kind_of_part_and_mixture_can_be_returned():
    result = execute_tool(part_tools.pair)
    assert (result.render(), result.content) == ("The report", (PDF,))
    assert result.value == ("The report", PDF)
    assert execute_tool(part_tools.sounds).content == (WAV, WAV)
    assert execute_tool(part_tools.film).content == (Video(url="https://example.org/film.mp4"),)


def test_a_text_or_none_instead_of_a_part_is_a_plain_value():
    @tool
    def draw(what: str | None) -> str | Image | None:
        """Draw."""
        return what

    for what, text in (("a text", "a text"), (None, "null")):
        result = execute_tool(draw, {"what": what})
        assert (result.value, result.render(), result.content) == (what, text, ())


def test_every_way_to_define_a_tool_can_return_parts():
    for made in (part_tools.draw_with_message, part_tools.typed, part_tools.wrapped):
        with in_case(made.name):
            assert isinstance(made, Tool)
            assert made.output_schema is None
            result = execute_tool(made)
            assert (result.render(), result.value, result.content) == ("Here it is", PNG, (PNG,))
    check_one(execute_tool(part_tools.raw))
    painted = execute_tool(part_tools.Painter(), {"colour": "red"})
    assert (painted.success, painted.render(), painted.content) == (True, "red", (PNG,))


def test_formats_send_the_parts_and_no_name_for_them():
    result = ToolExecutor([part_tools.draw]).execute(ToolCall(id="1", name="draw", arguments="{}"))
    sent = {format: repr(encode_results([result], format)) for format in ("anthropic", "gemini", "mcp")}
    for format, text in sent.items():
        with in_case(format):
            assert PNG.base64 in text
            assert "[image" not in text
    (message,) = encode_results([result], "cohere")
    assert "[image left out: image/png]" in repr(message)


def test_a_tool_that_returns_parts_declares_no_output_to_clients():
    (entry,) = export_tools([part_tools.draw], "mcp").payload["tools"]
    assert "outputSchema" not in entry


def test_a_part_where_another_type_is_declared_is_not_valid_output():
    @tool
    def count() -> int:
        """Count."""
        return PNG

    failure = execute_tool(count).failure
    assert failure is not None
    assert failure.kind == "invalid_output"


def test_other_items_of_a_list_with_parts_become_json_in_the_text():
    @tool
    def look() -> list[dict[str, int] | str | Image]:
        """Look."""
        return [{"width": 3}, "A cat:", PNG, 7]

    result = execute_tool(look)
    assert (result.value, result.content) == ([{"width": 3}, "A cat:", PNG, 7], (PNG,))
    assert result.render() == '{"width":3}\n\nA cat:\n\n7'


def test_lists_without_parts_stay_values():
    for value in ([1, 2], ["a", "b"], [], [["a"]], ("a", 1), [{"a": PNG}]):

        @tool(isolation="inline")
        def get():
            """Get."""
            return value  # noqa: B023 -- called in the same round of the loop

        with in_case(value):
            result = execute_tool(get)
            assert (result.value, result.content, result.exclude_value_from_context) == (value, (), False)
