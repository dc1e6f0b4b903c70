"""Several calls of one turn may ask for sections: all of them are asked for, and each call has its words."""

import asyncio

import pytest

from tests.cases import each_case
from tests.execute.calls import call, kind_of
from toolhaft import ToolExecutor, tool
from toolhaft.errors import PromptEvaluationError, VisibilityExpansionRequired
from toolhaft.prompt import MarkdownSection, Prompt, SectionVisibility


def by_execute_all(executor, calls):
    return executor.execute_all(calls)


def by_aexecute_all(executor, calls):
    return asyncio.run(executor.aexecute_all(calls))


each_turn = each_case("turn", [by_execute_all, by_aexecute_all])


def summarised(*keys):
    sections = [
        MarkdownSection(title=key, key=key, template=f"All of {key}.", visibility="summary", summary=key)
        for key in keys
    ]
    return ToolExecutor(prompt=Prompt(name="p", sections=sections))


def opening(*keys, reason=""):
    return call("open_sections", section_keys=list(keys), reason=reason)


@each_turn
def test_one_exception_requests_the_sections_of_all_calls(turn):
    executor = summarised("a", "b", "c")
    calls = [opening("b", reason="to see b"), opening("a", "b", reason="to see a"), opening("a")]
    with pytest.raises(VisibilityExpansionRequired) as caught:
        turn(executor, calls)
    asked = caught.value
    full = SectionVisibility.FULL
    assert list(asked.requested_overrides.items()) == [(("b",), full), (("a",), full)]
    assert (asked.section_keys, asked.section_path) == (("b", "a"), ("b",))
    assert asked.reason == "to see b; to see a"
    said = (
        "the model asks to see b in full; the model asks to see a, b in full; the model asks to see a in full"
    )
    assert str(asked) == said
    assert [result.call for result in asked.results] == calls
    executor.change_prompt(executor.prompt.with_visibility(asked.requested_overrides))
    text = executor.rendered_prompt.text
    assert ("All of a." in text, "All of b." in text, "All of c." in text) == (True, True, False)


@each_turn
def test_calls_that_request_sections_have_a_result_message(turn):
    with pytest.raises(VisibilityExpansionRequired) as caught:
        turn(summarised("a", "b"), [opening("b"), opening("nowhere"), opening("a", "b")])
    first, wrong, last = caught.value.results
    words = "open_sections: the sections are shown in full from the next message on"
    assert (first.message, last.message) == (f"{words}: b.", f"{words}: a, b.")
    assert "there is no section 'nowhere'" in wrong.message
    assert (kind_of(first), kind_of(wrong)) == ("failed", "invalid_arguments")


@each_turn
def test_a_single_request_is_raised_unchanged(turn):
    @tool
    def expand() -> None:
        """Ask for more."""
        raise mine

    mine = VisibilityExpansionRequired("more", section_keys=("x",))
    with pytest.raises(VisibilityExpansionRequired) as caught:
        turn(ToolExecutor([expand]), [call("expand")])
    assert caught.value is mine
    assert len(mine.results) == 1


@each_turn
def test_an_exception_shared_by_all_calls_is_not_merged_with_itself(turn):
    @tool
    def expand() -> None:
        """Ask for more."""
        raise mine

    mine = VisibilityExpansionRequired("more", section_keys=("x",), requested_overrides={("x",): "full"})
    for _ in range(2):
        with pytest.raises(VisibilityExpansionRequired, match=r"^more$") as caught:
            turn(ToolExecutor([expand]), [call("expand")] * 2)
        assert (caught.value.section_keys, len(caught.value.results)) == (("x",), 2)
    assert (mine.section_keys, mine.results) == (("x",), ())


@each_turn
def test_an_earlier_error_takes_precedence_over_section_requests(turn):
    @tool
    def stop() -> None:
        """End the run."""
        raise PromptEvaluationError("stop")

    executor = ToolExecutor([stop], prompt=summarised("a").prompt)
    with pytest.raises(PromptEvaluationError) as caught:
        turn(executor, [call("stop"), opening("a")])
    ended, opened = caught.value.results
    assert ended.message == "stop was not finished: it ended the run."
    assert ended.failure.outcome == "unknown"
    assert opened.message == "open_sections: the sections are shown in full from the next message on: a."
