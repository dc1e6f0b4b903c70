"""What a tool returns, in words: every provider gets it."""

from typing import Annotated, TypedDict

from tests.cases import each_case
from toolhaft import Image, Tool, ToolContext, ToolResult, execute_tool, tool
from toolhaft.formats import FORMATS, describe, encode_results, export_tools, import_tools
from toolhaft.formats.registry import get_format


@tool
def price(item: str) -> float:
    """Look up a price.

    Returns:
        The price in euros,
        with tax.
    """
    return 2.5


TEXT = "The price in euros, with tax."


def raw(output, description="Find."):
    return Tool(name="find", description=description, output_schema=output)


def description_of(tool, format="openai_chat"):
    found = []

    def walk(value):
        for key, inside in value.items() if isinstance(value, dict) else enumerate(value):
            if key == "description" and isinstance(inside, str):
                found.append(inside)
            elif isinstance(inside, dict | list):
                walk(inside)

    walk(export_tools([tool], format).payload)
    return found[0]


def test_the_returns_section_of_a_docstring_describes_the_output():
    assert price.output_schema == {"type": "number", "description": TEXT}
    assert price.description == "Look up a price."


def test_an_annotation_describes_the_output_rather_than_the_docstring():
    @tool
    def one() -> Annotated[int, "The one"]:
        """One.

        Returns:
            Something.
        """
        return 1

    assert one.output_schema == {"type": "integer", "description": "The one"}
    assert execute_tool(one).value == 1


@each_case("format", FORMATS)
def test_what_a_tool_returns_reaches_every_format_and_dialect_and_comes_back(format):
    for dialect in get_format(format).dialects:
        for one in (price, raw({"type": "string", "description": TEXT}), raw({"description": TEXT})):
            export = export_tools([one], format, dialect=dialect)
            assert export.json_bytes.decode().count(TEXT) == 1
            (again,) = import_tools(export, format)
            assert (again.description, again.output_schema["description"]) == (one.description, TEXT)
            assert export_tools([again], format, dialect=dialect).payload == export.payload


def test_it_joins_the_description_after_when_to_use_and_before_the_examples():
    rich = price.replace(when_to_use="To buy", examples=[{"input": {"item": "tea"}}])
    export = export_tools([rich], "openai_chat", examples=True)
    assert description_of(rich) == f"Look up a price.\n\nWhen to use: To buy\n\nReturns: {TEXT}"
    (again,) = import_tools(export, "openai_chat")
    assert (again.description, again.when_to_use, again.output_schema, again.examples) == (
        "Look up a price.",
        "To buy",
        {"description": TEXT},
        rich.examples,
    )


@each_case(
    ("output", "returns"),
    [
        (None, ""),
        (True, ""),
        ({"type": "integer"}, ""),
        ({"description": " "}, ""),
        ({"type": "object", "properties": {}}, ""),
        ({"type": "object", "properties": {"a": {"description": "One"}, "b": True}}, ""),
        (
            {"type": "object", "properties": {"a": {"description": "One"}, "b": {"description": "Two\n2"}}},
            "a: One; b: Two 2",
        ),
        ({"type": "object", "properties": {"a": {"description": "x" * 501}}}, ""),
        ({"type": "object", "description": "Both", "properties": {"a": {"description": "One"}}}, "Both"),
    ],
)
def test_only_words_join_the_description(output, returns):
    assert description_of(raw(output)) == ("Find." + (f"\n\nReturns: {returns}" if returns else ""))


def test_a_description_that_ends_with_it_already_is_sent_as_it_is():
    export = export_tools([raw(None, "Find.\n\nReturns: The page")], "openai_chat")
    assert export.losses == ()
    (again,) = import_tools(export, "openai_chat")
    assert (again.description, again.output_schema) == ("Find.", {"description": "The page"})
    assert export_tools([again], "openai_chat").payload == export.payload


def test_with_an_output_schema_the_description_is_not_split():
    one = raw({"type": "object"}, "Find.\n\nReturns: The page")
    (again,) = import_tools(export_tools([one], "openai_responses"), "openai_responses")
    assert (again.description, again.output_schema) == (one.description, one.output_schema)


def test_words_alone_are_no_output_schema_that_clients_would_check():
    one = raw({"description": "A page"}).replace(handler=lambda _: "page")
    export = export_tools([one], "mcp")
    assert "outputSchema" not in export.tools[0]
    assert export.losses == ()
    (sent,) = encode_results([execute_tool(one)], "mcp", export=export)
    assert sent["content"] == [{"type": "text", "text": "page"}]


def test_the_pages_for_people_and_models_say_what_is_returned():
    assert f"**Returns:** `float`: {TEXT}" in describe(price)
    assert f"Returns: {TEXT}" in describe(price, "signature")


def test_without_an_output_schema_the_returns_section_stays_in_the_description():
    def find(item):
        """Look up a price.

        Returns:
            The price in euros, with tax.
        """

    def draw(item: str) -> Image:
        """Look up a price.

        Returns:
            The price in euros, with tax.
        """
        return Image(data=item.encode())

    for function in (find, draw):
        made = tool(function)
        assert (made.output_schema, made.description) == (None, f"Look up a price.\n\nReturns: {TEXT}")
        for format in FORMATS:
            for one in (made, made.replace(when_to_use="Before buying.")):
                export = export_tools([one], format)
                assert export.losses == ()
                (again,) = import_tools(export.payload, format)
                assert again.when_to_use == one.when_to_use
                assert export_tools([again], format).payload == export.payload


def test_the_returns_section_of_a_typed_handler_describes_the_output():
    class Params(TypedDict):
        item: str

    class Price(TypedDict):
        euros: float

    def find(params: Params, *, context: ToolContext) -> ToolResult[Price]:
        """Look up a price.

        Returns:
            The price in euros, with tax.
        """
        return ToolResult.ok(Price(euros=len(params["item"])))

    find.__annotations__ |= {"params": Params, "return": ToolResult[Price]}
    made = Tool.wrap(find)
    assert made.output_schema["description"] == TEXT
    assert description_of(made) == f"Look up a price.\n\nReturns: {TEXT}"
    assert made.replace(timeout_s=3).output_schema == made.output_schema
