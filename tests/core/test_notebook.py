"""Tools, results and prompts in a notebook."""

import re
from html.parser import HTMLParser
from typing import Annotated

from tests.cases import each_case
from toolhaft import (
    Image,
    Secret,
    Tool,
    ToolCall,
    ToolExecutor,
    ToolResult,
    execute_tool,
    tool,
)
from toolhaft.prompt import MarkdownSection, Prompt

VOID = {"img"}


class Balance(HTMLParser):
    """Checks that every element is closed, and collects the texts."""

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.texts = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "span", "pre", "table", "tr", "th", "td", *VOID}
        assert {name for name, _ in attrs} <= {"style", "src"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(shown):
    page = shown._repr_html_()
    assert "http" not in page.replace("https://example.com", "")
    assert not re.search(r"background:(?!transparent)|(?<!-)color:(?!inherit|#2e9e4f|#d9534f)", page)
    return " ".join(Balance(page).texts)


@tool(effect="read", rate="5/min", tags=["shop"], version="2", when_to_use="Before <buying>")
def price(
    item: Annotated[str, "What to look for <b>"], key: Annotated[str, Secret] = "sk-12345", count: int = 1
) -> float:
    """Look up a <script>alert(1)</script> price.

    Returns:
        The price in euros.
    """
    return 2.5 * count


def test_a_tool_shows_its_description_parameters_result_and_options():
    shown = read(price)
    for part in (
        "price",
        "Look up a <script>alert(1)</script> price.",
        "When to use: Before <buying>",
        "What to look for <b>",
        "Returns float: The price in euros.",
        "effect: read · timeout: 10 s · rate: 5/min · version: 2 · tags: shop",
    ):
        assert part in shown
    assert "sk-12345" not in shown


def test_a_tool_that_is_not_valid_shows_why():
    @tool(timeout=5)
    def broken(x: int) -> int:
        """Break."""

    shown = read(broken)
    assert "not valid" in shown
    assert "did you mean 'timeout_s'?" in shown


def test_a_large_tool_is_cut():
    many = {f"p{number}": {"type": "string", "description": "x" * 1500} for number in range(1000)}
    wide = Tool(name="wide", description="d" * 100_000, input_schema={"type": "object", "properties": many})
    assert len(wide._repr_html_()) < 50_000
    assert "and 950 more" in read(wide)


def test_a_result_is_shown_as_the_model_reads_it():
    assert "2.5" in read(execute_tool(price, {"item": "tea"}))
    assert "ok" in read(execute_tool(price, {"item": "tea"}))
    failed = read(execute_tool(price, {"itm": "tea", "key": "sk-777"}))
    assert "failure: invalid_arguments · outcome: nothing happened" in failed
    assert "did you mean 'item'" in failed
    assert "sk-777" not in failed


def test_a_call_that_waits_shows_no_arguments():
    executor = ToolExecutor([price], policy=lambda _: "ask")
    shown = read(executor.execute(ToolCall(name="price", arguments={"item": "tea", "key": "sk-777"})))
    assert "waits for approval: yes" in shown
    assert "sk-777" not in shown


def test_a_value_that_the_model_does_not_get_is_not_shown():
    shown = read(ToolResult(message="Done", value={"token": "abc"}, exclude_value_from_context=True))
    assert "value: dict, not shown to the model" in shown
    assert "abc" not in shown


def test_a_large_result_is_cut():
    assert len(ToolResult(value="<" * 1_000_000)._repr_html_()) < 30_000


@each_case(
    ("part", "is_shown"),
    [
        (Image(data=b"\x89PNG"), True),
        (Image(data=b"<svg/>", media_type="image/svg+xml"), False),
        (Image(data=b"x" * 2_000_000), False),
        (Image(url="https://example.com/a.png"), False),
        (Image(data=b"x", media_type='image/png" onload="alert(1)'), False),
    ],
)
def test_only_a_small_image_of_a_common_type_is_drawn(part, is_shown):
    result = ToolResult(message="Here", content=(part,))
    assert ('<img style="max-width:100%" src="data:image/png;base64,' in result._repr_html_()) == is_shown
    assert ("Image(" in read(result)) != is_shown


def test_a_prompt_shows_its_outline_and_a_rendered_one_its_text():
    section = MarkdownSection(title="Shop", key="shop", template="Sell <b>tea</b>.", tools=[price])
    prompt = Prompt(name="seller", sections=[section])
    assert "shop: Shop" in read(prompt)
    assert "tools: price" in read(prompt)
    assert "Sell <b>tea</b>." in read(prompt.render())
    assert "tools: price" in read(prompt.render())


def test_a_prompt_that_is_not_valid_shows_why():
    twice = MarkdownSection(title="Shop", key="shop", template="x", tools=[price])
    assert "shop" in read(Prompt(name="seller", sections=[twice, twice]))
