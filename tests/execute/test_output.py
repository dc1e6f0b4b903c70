"""Output: checked against its schema, cut at a mark for the model, kept whole for the program."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated

from pydantic import BaseModel

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, in_threads, kind_of
from toolhaft import (
    Secret,
    Session,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolResult,
    create_tool,
    tool,
)

LIMIT = 100_000


def giving(value, **options):
    """A tool without an output schema that gives back this very value."""
    return create_tool(
        ToolConfig(
            name="give",
            description="Give it.",
            input_schema={"type": "object"},
            execute=lambda _: value,
            **options,
        )
    )


def give(value, *, run=None, **options):
    executor = ToolExecutor([giving(value)], **options)
    return executor.execute(call("give")) if run is None else run(executor, call("give"))


# --- cut for the model, whole for the program ---


@each_way
def test_long_output_is_cut_at_a_clear_mark_and_kept_whole(run):
    text = "abcdefghij" * 20_000
    result = give(text, run=run)
    assert result.success
    assert result.value == text
    assert result.render() == f"{text[:LIMIT]}\n[cut: 100,000 of 200,000 characters shown]"


@each_way
def test_an_executor_may_have_a_limit_of_its_own(run):
    result = give("abcdefghij", run=run, max_output_chars=4)
    assert result.value == "abcdefghij"
    assert result.render() == "abcd\n[cut: 4 of 10 characters shown]"


@both_ways
@each_case("value", [["x" * 50] * 10, {"key": "x" * 500}], ids=["list", "dict"])
def test_json_is_cut_too(run, value):
    result = give(value, run=run, max_output_chars=100)
    assert result.value == value
    assert result.render().endswith("characters shown]")
    assert len(result.render()) < 200


@both_ways
def test_a_message_counts_towards_the_limit(run):
    @tool
    def act():
        """Say much."""
        return ToolResult.ok("v" * 100, message="m" * 100)

    rendered = run(ToolExecutor([act], max_output_chars=50), call("act")).render()
    assert rendered == "m" * 50 + "\n[cut: 50 of 204 characters shown]"


@both_ways
def test_a_failed_result_is_cut_too(run):
    @tool
    def act():
        """Fail with much."""
        return ToolResult.error("e" * 100)

    result = run(ToolExecutor([act], max_output_chars=50), call("act"))
    assert result.render() == "e" * 50 + "\n[cut: 50 of 100 characters shown]"
    assert kind_of(result) == "failed"


def test_output_of_exactly_the_limit_is_not_cut():
    assert give("x" * LIMIT).render() == "x" * LIMIT
    assert give("x" * 10, max_output_chars=10).render() == "x" * 10


@both_ways
def test_a_hundred_megabytes_are_rendered_up_to_the_limit(run):
    text = "x" * 100_000_000
    result = give(text, run=run)
    assert len(result.render()) < LIMIT + 100
    assert result.value is text


BOMBS = {
    "wide": [[0] * 30_000] * 30_000,
    "keyed": [{"a": [0] * 10**4}] * 30_000,
    "text": ["x" * 10**6] * 10**4,
}


def doubling(depth=64):
    value = [0]
    for _ in range(depth):
        value = [value, value]
    return value


@both_ways
@each_case("name", [*BOMBS, "doubling"])
@each_case("has_schema", [False, True], ids=["no schema", "schema"])
def test_an_aliasing_bomb_is_refused_or_cut(run, name, has_schema):
    """Threats, *output*: aliasing bombs (`[[0]*10**5]*10**5`), within a second."""
    value = doubling() if name == "doubling" else BOMBS[name]
    made = giving(value, output_schema={"type": "array", "items": {}} if has_schema else None)
    result = run(ToolExecutor([made]), call("give"))
    rendered = result.render()
    assert len(rendered) < LIMIT + 100


def test_a_cyclic_value_is_rendered_within_the_limit():
    cycle = []
    cycle.append(cycle)
    for made in (giving(cycle), giving(cycle, output_schema={"type": "array"})):
        result = ToolExecutor([made]).execute(call("give"))
        assert len(result.render()) < LIMIT + 100


class Odd:
    pass


class Rendering:
    def render(self):
        return "as I say"


class Broken:
    def render(self):
        raise RuntimeError("cannot")


@each_way
@each_case(
    "value",
    [Odd(), b"\xff\xfe", {1, 2}, {(1, 2): 3}, float("nan"), 10**5000, "\ud800"],
    ids=["object", "bytes", "set", "tuple key", "nan", "huge integer", "surrogate"],
)
def test_a_value_that_json_cannot_hold_still_gives_one_result_that_renders(run, value):
    """Each call yields exactly one ToolResult, whatever the handler gives back."""
    result = give(value, run=run)
    assert isinstance(result.render(), str)


def test_a_value_renders_by_its_own_render():
    """The value by its own `render()` or as compact JSON."""
    assert give(Rendering()).render() == "as I say"
    assert isinstance(give(Broken()).render(), str)


# --- what is shown ---


@each_way
@each_case(
    ("value", "shown"),
    [
        ("text", "text"),
        ("", ""),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        ((1, "b"), '[1,"b"]'),
        (date(2024, 1, 2), '"2024-01-02"'),
    ],
    ids=repr,
)
def test_a_plain_value_renders_as_itself(run, value, shown):
    """Text as it is, anything else as compact JSON."""
    result = give(value, run=run)
    assert (result.value, result.message, result.render()) == (value, "", shown)


@both_ways
def test_a_value_that_is_excluded_is_not_shown(run):

    @tool
    def act():
        """Hide the value."""
        return ToolResult(message="done", value={"big": 1}, exclude_value_from_context=True)

    result = run(ToolExecutor([act]), call("act"))
    assert (result.value, result.render()) == ({"big": 1}, "done")


# --- checked ---


@dataclass
class Point:
    x: int
    y: int = 0


class Model(BaseModel):
    n: int


class Colour(Enum):
    RED = "red"


@each_way
@each_case(
    ("annotation", "value", "shown"),
    [
        (int, 5, "5"),
        (str, "5", "5"),
        (list[int], [1], "[1]"),
        (dict[str, int], {"a": 1}, '{"a":1}'),
        (Point, Point(1), '{"x":1,"y":0}'),
        (Model, Model(n=1), '{"n":1}'),
        (list[Point], [Point(1)], '[{"x":1,"y":0}]'),
        (Colour, Colour.RED, '"red"'),
        (date, date(2024, 1, 2), '"2024-01-02"'),
        (int | None, None, "null"),
        (None, None, "null"),
    ],
    ids=repr,
)
def test_a_value_that_fits_its_annotation_passes(run, annotation, value, shown):
    """One value, checked by `output_schema`; a return annotation becomes that schema."""

    def act():
        return value

    act.__annotations__ = {"return": annotation}
    result = run(ToolExecutor([tool(act, description="Act.")]), call("act"))
    assert result.success, result.message
    assert (result.value, result.render()) == (value, shown)


@each_way
@each_case(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, True),
        (int, None),
        (str, 5),
        (list[int], ["a"]),
        (dict[str, int], {"a": "b"}),
        (Point, {"x": "a"}),
        (Model, {}),
        (float, float("inf")),
        (None, 5),
    ],
    ids=repr,
)
def test_a_value_that_does_not_fit_is_invalid_output_and_rolls_back(run, annotation, value):

    def act(context):
        context.session[str].append("lost")
        return value

    act.__annotations__ = {"context": ToolContext, "return": annotation}
    executor = ToolExecutor([tool(act, description="Act.", effect="reversible")], session=Session())
    result = run(executor, call("act"))
    assert kind_of(result) == "invalid_output"
    assert "act returned a value that does not fit its output schema" in result.message
    assert result.failure.outcome == "rolled_back"
    assert executor.session[str].all() == ()


@both_ways
def test_the_value_inside_a_tool_result_is_checked(run):
    def handle(params: None, *, context: ToolContext) -> ToolResult[Point]:
        """Act."""
        return ToolResult.ok({"x": "wrong"})

    executor = ToolExecutor([Tool[None, Point](name="act", description="Act.", handler=handle)])
    assert kind_of(run(executor, call("act"))) == "invalid_output"


@both_ways
def test_the_output_schema_does_not_apply_to_an_error_result(run):
    @tool
    def act() -> ToolResult[int]:
        """Fail with a payload."""
        return ToolResult.error("no", value={"code": 1})

    result = run(ToolExecutor([act]), call("act"))
    assert (kind_of(result), result.value) == ("failed", {"code": 1})


@both_ways
def test_a_raw_output_schema_is_checked(run):
    """Validates tool output against JSON Schema."""
    schema = {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]}
    assert run(ToolExecutor([giving({"t": 5}, output_schema=schema)]), call("give")).success
    for value in ({"t": "hot"}, {}, [], "x"):
        executor = ToolExecutor([giving(value, output_schema=schema)])
        assert kind_of(run(executor, call("give"))) == "invalid_output"


@both_ways
def test_the_message_about_an_invalid_value_is_short(run):
    """Threats: an error for a model is at most 2 KB, also when it is rendered."""
    result = run(ToolExecutor([giving("x" * 50_000, output_schema={"type": "integer"})]), call("give"))
    assert kind_of(result) == "invalid_output"
    assert len(result.message.encode()) <= 2048
    assert len(result.render().encode()) <= 2048


@both_ways
def test_events_do_not_contain_values(run):
    """`ToolInvoked.message`: what the model was told, without the value."""
    executor = ToolExecutor([giving("a value that is private")])
    events = hear(executor)
    run(executor, call("give"))
    assert "private" not in repr(events)


@both_ways
def test_a_stream_is_checked_as_a_whole(run):
    @tool
    def count(n: int) -> Iterator[int]:
        """Count."""
        yield from range(n)

    result = run(ToolExecutor([count]), call("count", n=3))
    assert result.value == [0, 1, 2]


@each_way
@each_case("options", [{}, {"max_output_chars": 50}], ids=["plain", "own limit"])
def test_all_fields_of_a_handlers_result_are_kept(run, options):

    @tool
    def act(n: int, token: Annotated[str, Secret] = ""):
        """Fill in every field."""
        return ToolResult(
            message="done", value={"n": n}, exclude_value_from_context=True, content=("picture",), final=True
        )

    executor = ToolExecutor([act], **options)
    hear(executor)
    result = run(executor, ToolCall(name="act", arguments='{"n": 1.0}'))
    assert (result.message, result.value, result.success) == ("done", {"n": 1}, True)
    assert (result.exclude_value_from_context, result.content, result.final) == (True, ("picture",), True)
    assert len(result.repairs) == 1
    assert result.render() == "done"


def test_a_result_is_not_shared_between_calls():
    """Handlers that give back one and the same ToolResult: what one call adds is not on the next."""
    shared = ToolResult.error("no")

    @tool(max_attempts=5)
    def act():
        """Give back the same object."""
        return shared

    executor = ToolExecutor([act])
    first, second = executor.execute(call("act")), executor.execute(call("act"))
    assert shared.failure is None
    assert "attempt 1 of 5" in first.failure.advice
    assert "attempt 2 of 5" in second.failure.advice


def test_a_result_shared_by_many_threads_stays_whole():
    @tool(effect="read")
    def act() -> dict[str, int]:
        """Give back a dict."""
        return {"a": 1}

    executor, texts = ToolExecutor([act]), []

    def work():
        texts.extend(executor.execute(call("act")).render() for _ in range(50))

    in_threads([work] * 4)
    assert texts == ['{"a":1}'] * 200


@each_case("isolation", ["inline", "thread"])
def test_a_text_is_rendered_without_quotes_wherever_its_handler_runs(isolation):
    """A plain function's text renders as it is, anything else as compact JSON."""

    @tool(isolation=isolation)
    def find(key: str) -> str | list[int] | None:
        """Find a text, a list or nothing."""
        return {"text": "plain", "list": [1, 2]}.get(key)

    executor = ToolExecutor([find])
    rendered = [executor.execute(call("find", key=key)).render() for key in ("text", "list", "nothing")]
    assert rendered == ["plain", "[1,2]", "null"]


@each_case("isolation", ["inline", "thread"])
def test_a_result_without_a_value_is_its_message_wherever_its_handler_runs(isolation):
    made = create_tool(
        ToolConfig(
            name="note",
            description="Note something.",
            input_schema={"type": "object"},
            output_schema={"type": ["string", "null"]},
            execute=lambda input: ToolResult(message="Noted."),
            isolation=isolation,
        )
    )
    assert ToolExecutor([made]).execute(call("note")).render() == "Noted."
