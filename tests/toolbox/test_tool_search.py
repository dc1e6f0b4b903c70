"""A model finds its tools while it works, and only those that its caller may use."""

import threading
from dataclasses import dataclass

import pytest

from toolhaft import Principal, Session, Tool, ToolCall, ToolContext, ToolExecutor, execute_tool, tool
from toolhaft.errors import DefinitionError, ResourceMissingError, UnknownToolError
from toolhaft.formats import export_tools
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.toolbox import calculator, make_search_tools, search_tools


def make(name, **options):
    @tool(name=name, description=f"Do {name} things.", effect="read", **options)
    def handler(amount: float) -> str:
        return f"{name} {amount}"

    return handler


@dataclass(frozen=True)
class Hit:
    id: str


class Shelf:
    """A catalog in the order in which its tools were given."""

    def __init__(self, *tools):
        self.tools = {made.name: made for made in tools}
        self.searches = []

    def search(self, text, *, limit=10):
        self.searches.append(text)
        return [Hit(name) for name in self.tools if any(word in name for word in text.split())][:limit]

    def get_tool(self, id):
        made = self.tools.get(id)
        if made is None:
            raise UnknownToolError(id)
        if made.description.startswith("Broken"):
            raise DefinitionError("it cannot be loaded", tool=id)
        return made


def searched(executor, query="money", **arguments):
    return executor.execute(
        ToolCall(name="search_tools", arguments={"query": query, **arguments}),
    )


def names(result):
    return [found["name"] for found in result.value["tools"]]


def test_found_tools_are_listed_and_can_be_called():
    executor = ToolExecutor([search_tools], catalog=Shelf(make("money_in"), make("money_out"), make("tea")))
    assert executor.execute(ToolCall(name="money_in", arguments={"amount": 1})).failure.kind == "unknown_tool"

    result = searched(executor)

    assert result.message == "They can be called from now on."
    assert result.value["tools"][0] == {
        "name": "money_in",
        "description": "Do money_in things.",
    }
    assert list(executor.tools) == ["search_tools", "money_in", "money_out"]
    assert executor.execute(ToolCall(name="money_in", arguments={"amount": 2})).value == "money_in 2.0"
    assert executor.execute(ToolCall(name="tea", arguments={"amount": 2})).failure.kind == "unknown_tool"
    assert "money_out" in export_tools(executor.tools.values(), "anthropic").json_bytes.decode()


def test_search_returns_five_tools_by_default_and_respects_the_limit():
    many = [make(f"money_{number:02}") for number in range(60)]
    assert len(names(searched(ToolExecutor([search_tools], catalog=Shelf(*many))))) == 5
    assert names(searched(ToolExecutor([search_tools], catalog=Shelf(*many)), limit=1)) == ["money_00"]
    for limit in (0, 21, "five"):
        wrong = searched(ToolExecutor([search_tools], catalog=Shelf(*many)), limit=limit)
        assert wrong.failure.kind == "invalid_arguments"
    assert searched(ToolExecutor([search_tools], catalog=Shelf()), " ").failure.kind == "invalid_arguments"


def test_nothing_found_is_no_failure_and_says_what_next():
    result = searched(ToolExecutor([search_tools], catalog=Shelf(make("tea"))))
    assert result.success
    assert result.render().startswith("No tool fits 'money'. Describe the task in other words.")


def test_message_for_one_found_tool_is_singular():
    result = searched(ToolExecutor([search_tools], catalog=Shelf(make("money"))))
    assert result.message == "It can be called from now on."


def test_long_description_is_shortened_in_the_result_only():
    cases = [
        (f"Counts money.\n{'Many words. ' * 50}", "Counts money."),
        ("Counts money, e.g. coins.\n  Also notes.", "Counts money, e.g. coins."),
        ("word " * 100, f"{'word ' * 23}word…"),
    ]
    for description, line in cases:
        executor = ToolExecutor([search_tools], catalog=Shelf(make("money").replace(description=description)))
        assert searched(executor).value["tools"] == [{"name": "money", "description": line}]
        assert executor.tools["money"].description == description


def test_whole_definitions_are_given_where_no_host_can_send_them():
    made = make("money")
    whole = {"name": "money", "description": "Do money things.", "parameters": made.input_schema}
    shelf = Shelf(made)
    assert execute_tool(search_tools, {"query": "money"}, catalog=shelf).value["tools"] == [whole]
    executor = ToolExecutor([search_tools], catalog=shelf, max_found_tools=0)
    assert searched(executor).value["tools"] == [whole]
    assert list(executor.tools) == ["search_tools"]
    finder = ToolExecutor([search_tools], catalog=_Finder(made))
    assert searched(finder).value["tools"] == [whole]
    brief = make_search_tools(with_parameters=False)
    assert "parameters" not in searched(ToolExecutor([brief], catalog=_Finder(made))).value["tools"][0]


def test_a_host_that_cannot_change_its_tools_asks_for_whole_definitions():
    made = make("money")
    executor = ToolExecutor([make_search_tools(with_parameters=True)], catalog=Shelf(made))
    assert searched(executor).value["tools"][0]["parameters"] == made.input_schema
    assert "money" in executor.tools


class _Finder:
    """Finds tools, and adds them nowhere."""

    def __init__(self, *tools):
        self._tools = tools

    def find_tools(self, text, *, limit, principal):
        return self._tools[:limit]


def test_a_question_of_four_thousand_characters_is_taken():
    executor = ToolExecutor([search_tools], catalog=Shelf(make("money")))
    assert names(searched(executor, f"{'a ' * 1_997}money")) == ["money"]
    refused = searched(executor, "a" * 4_001)
    assert refused.failure.kind == "invalid_arguments"
    assert len(searched(ToolExecutor([search_tools], catalog=Shelf()), "a " * 2_000).message) < 400


def test_a_question_that_is_not_a_text_is_refused():
    executor = ToolExecutor([], catalog=Shelf(make("money")))
    for wrong in (None, 5, b"money"):
        with pytest.raises(TypeError, match="find_tools takes a text, not "):
            executor.find_tools(wrong)
    with pytest.raises(TypeError, match="limit does not take '5'; write a whole number"):
        executor.find_tools("money", limit="5")
    for limit in (0, -1):
        assert executor.find_tools("money", limit=limit) == ()


def test_found_tool_does_not_replace_a_tool_of_the_executor():
    own = make("money")
    executor = ToolExecutor([search_tools, own], catalog=Shelf(make("money"), make("more_money")))
    assert names(searched(executor)) == ["money", "more_money"]
    assert executor.tools["money"] is own


def test_tool_that_cannot_be_loaded_is_skipped():
    broken, gone = make("money_1").replace(description="Broken"), make("money_2")
    shelf = Shelf(broken, gone, make("money_3"))
    found = shelf.search("money")
    del shelf.tools["money_2"]
    shelf.search = lambda text, limit: found
    assert names(searched(ToolExecutor([search_tools], catalog=shelf))) == ["money_3"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, ["money_a", "money_b"]),
        ({"sees": ["search_tools", "money_b", "money_s"]}, ["money_b"]),
        ({"allow": ["search_tools", "money_a"]}, ["money_a"]),
        ({"scopes": ["pay"]}, ["money_a", "money_b", "money_s"]),
    ],
)
def test_only_permitted_tools_are_found(rules, expected):
    shelf = Shelf(make("money_a"), make("money_b"), make("money_s", requires=["pay"]))
    executor = ToolExecutor([search_tools], catalog=shelf, principal=Principal(id="ada", **rules))
    assert names(searched(executor)) == expected
    by_call = ToolExecutor([search_tools], catalog=shelf)
    call = ToolCall(name="search_tools", arguments={"query": "money"})
    assert names(by_call.execute(call, principal=Principal(id="bob", **rules))) == expected
    found = ToolExecutor([], catalog=shelf).find_tools("money", principal=Principal(id="eve", **rules))
    assert [made.name for made in found] == expected


def test_the_one_tool_that_a_caller_may_use_is_found_behind_hundreds_that_fit_as_well():
    many = [make(f"money_{number:03}", requires=[] if number == 250 else ["pay"]) for number in range(300)]
    assert names(searched(ToolExecutor([search_tools], catalog=Shelf(*many)))) == ["money_250"]
    ada = Principal(id="ada", sees=["search_tools", "money_299"], scopes=["pay"])
    assert names(searched(ToolExecutor([search_tools], catalog=Shelf(*many), principal=ada))) == ["money_299"]


def test_inactive_tool_is_skipped():
    off = Tool(name="money_off", description="Do money things.", input_schema={"type": "object"})
    executor = ToolExecutor([search_tools], catalog=Shelf(off, make("money_on")))
    assert names(searched(executor)) == ["money_on"]


def test_allow_list_of_the_executor_applies_to_found_tools():
    shelf = Shelf(make("money_a"), make("money_b"))
    executor = ToolExecutor([search_tools], catalog=shelf, allow=["search_tools", "money_b"])
    assert names(searched(executor)) == ["money_b"]


def test_without_a_catalog_the_search_fails_and_says_what_to_give():
    for executor in (ToolExecutor([search_tools]), ToolExecutor([search_tools], catalog=_Plain())):
        result = searched(executor)
        assert result.failure.kind == "failed"
        assert "give ToolExecutor(..., catalog=Catalog())" in result.message
    assert "catalog=Catalog()" in execute_tool(search_tools, {"query": "x"}).message
    with pytest.raises(ResourceMissingError, match="no catalog that can be searched"):
        ToolExecutor([]).find_tools("x")
    with pytest.raises(ResourceMissingError, match="runs in a process, or without an executor"):
        ToolContext().find_tools("x")


class _Plain:
    def get_tool(self, id):
        return calculator


def test_found_tools_stay_when_the_prompt_changes():
    prompt = Prompt(name="p", sections=[MarkdownSection(title="T", key="t", template="text")])
    executor = ToolExecutor([search_tools], catalog=Shelf(make("money")), prompt=prompt)
    searched(executor)
    executor.change_prompt(prompt)
    assert "money" in executor.tools
    assert executor.execute(ToolCall(name="money", arguments={"amount": 1})).success


def test_searches_side_by_side_lose_no_tool():
    many = [make(f"money{number:02}x") for number in range(20)]
    executor = ToolExecutor([search_tools], catalog=Shelf(*many))
    threads = [
        threading.Thread(target=searched, args=(executor, f"money{number:02}x")) for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(executor.tools) == sorted(["search_tools", *(made.name for made in many)])


def test_a_handler_searches_through_its_context_and_calls_what_it_found():
    @tool
    def helper(context: ToolContext) -> list[str]:
        """Search in its own way."""
        return [found.name for found in context.find_tools("money", limit=1)]

    executor = ToolExecutor([helper], catalog=Shelf(make("money_a"), make("money_b")), session=Session())
    assert executor.execute(ToolCall(name="helper", arguments={})).value == ["money_a"]
    assert "money_a" in executor.tools
    assert "money_b" not in executor.tools


def test_an_executor_inside_a_handler_opens_what_it_finds_where_the_model_calls():
    @tool
    def outer() -> list[str]:
        """Have another executor search."""
        return names(searched(ToolExecutor([search_tools], catalog=executor)))

    executor = ToolExecutor([outer], catalog=Shelf(make("money")))
    assert executor.execute(ToolCall(name="outer", arguments={})).value == ["money"]
    assert "money" in executor.tools
