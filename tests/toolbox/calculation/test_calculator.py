"""The calculator as a tool: its schemas, its messages, and its export to every format."""

import asyncio
import json
import threading

import pytest

from tests.cases import each_case
from tests.toolbox.calculation.kit import message_of, value_of
from toolhaft import Effect, ToolCall, ToolExecutor, execute_tool
from toolhaft.formats import encode_results
from toolhaft.toolbox import calculator
from toolhaft.toolbox.calculation import tool

WIRES = [
    "anthropic",
    "bedrock",
    "cohere",
    "gemini",
    "mcp",
    "mistral",
    "native",
    "ollama",
    "openai_chat",
    "openai_responses",
]

NAMES = """+ - * / // % ** sqrt sin cos tan asin acos atan atan2 log log2 log10 exp abs round floor ceil min max sum mean
factorial gcd comb perm hypot degrees radians pi e tau"""


def test_schemas_are_those_of_seed_004():
    assert calculator.name == "calculator"
    assert calculator.input_schema == {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "Math expression like '2 + 2'"}},
        "required": ["expression"],
    }
    assert calculator.output_schema == {"type": "object", "properties": {"result": {"type": "number"}}}


def test_it_only_reads():
    assert calculator.effect is Effect.READ
    assert calculator.timeout_s == 3
    assert calculator.retryable is True
    assert (calculator.title, tuple(calculator.tags)) == ("Calculator", ("math",))
    assert calculator.when_to_use


@pytest.mark.parametrize(
    ("expression", "is_quick"),
    [
        ("1 + 2", True),
        ("1+" * 99 + "1", True),
        ("1+" * 100 + "1", False),
        ("comb(9, 4)", False),
        ("perm (9, 4)", False),
    ],
)
def test_only_quick_expressions_are_computed_on_the_callers_thread(expression, is_quick, monkeypatch):
    threads = []

    def recording(input):
        threads.append(threading.get_ident())
        return compute(input)

    compute = tool.calculate
    monkeypatch.setattr(tool, "calculate", recording)
    assert execute_tool(calculator, {"expression": expression}).success
    assert (threads == [threading.get_ident()]) is is_quick


def test_long_expressions_do_not_hold_up_an_event_loop():
    long = "+".join(["log(7e3000,7)"] * 100)

    async def calculate():
        executor = ToolExecutor([calculator])
        pending = asyncio.ensure_future(
            executor.aexecute(ToolCall(name="calculator", arguments={"expression": long}))
        )
        await asyncio.sleep(0)
        assert not pending.done()
        return await pending

    assert asyncio.run(calculate()).success


def test_its_description_names_everything_that_it_can_do():
    for name in NAMES.split():
        assert name in calculator.description
    assert len(calculator.description) < 1000


@pytest.mark.parametrize("example", calculator.examples, ids=lambda example: example.description)
def test_every_example_gives_what_it_says(example):
    assert execute_tool(calculator, example.input).value == example.output


@each_case(
    ("expression", "message"),
    [
        ("1 + 2 * 3", "7, exact"),
        ("0.1 + 0.2", "0.3, exact (computed with fractions, not binary floats)"),
        ("0.5 + 0.5", "1, exact"),
        ("1 / 3", "0.3333333333333333, rounded to the nearest float (the exact value is 1/3)"),
        ("1e50 / 7", "1.4285714285714286e+49, rounded to the nearest float (computed exactly)"),
        (
            "-1.05 ** 10",
            "-1.6288946267774413, rounded to the nearest float (the exact value is -1.62889462677744140625)",
        ),
        (
            "1.23456789012345678 / 100",
            "0.012345678901234568, rounded to the nearest float (the exact value is 0.0123456789012345678)",
        ),
        ("sqrt(2)", "1.4142135623730951, approximate (floating point)"),
        ("round(2.5)", "2, exact; a tie was rounded to the even digit"),
        (
            "round(2.675, 2)",
            "2.68, exact (computed with fractions, not binary floats); a tie was rounded to the even digit",
        ),
        ("round(pi * 0 + 2.5)", "2, approximate (floating point); a tie was rounded to the even digit"),
        ("floor(pi)", "3, approximate (floating point)"),
        ("floor(pi) / 2", "1.5, approximate (floating point)"),
        (
            "sin(pi)",
            "0, approximate (floating point); a result below the rounding error of its angle is taken as 0",
        ),
        (
            "1.0001 ** 10000",
            "2.718145926825225, approximate (floating point); an exact value had too many digits",
        ),
        ("2 ** -2000", "0, rounded; a value too small for a float became 0"),
        ("exp(-1000)", "0.0, approximate (floating point); a value too small for a float became 0"),
        (
            "exp(-1000) + exp(-2000)",
            "0.0, approximate (floating point); a value too small for a float became 0",
        ),
        ("2 ** 200", "A whole number of 61 digits, exact"),
        ("-2 ** 200", "A whole number of 61 digits, exact"),
        ("max(1,200)", "200, exact; 1,200 was read as two numbers"),
        ("max(1, 200)", "200, exact"),
        ("10% 3", "1, exact; % was read as the remainder of a division, not as percent"),
        ("10 % 3", "1, exact"),
        ("0 * -pi", "0.0, approximate (floating point)"),
    ],
)
def test_the_message_says_the_answer_and_how_it_was_computed(expression, message):
    assert message_of(expression) == message


def test_a_result_is_shown_once_in_the_message_and_once_as_the_value():
    result = execute_tool(calculator, {"expression": "0.1 + 0.2"})
    assert result.success
    assert result.render() == '0.3, exact (computed with fractions, not binary floats)\n\n{"result":0.3}'


def test_largest_whole_number_survives_the_pipeline_and_every_format():
    executor = ToolExecutor([calculator])
    call = ToolCall(id="1", name="calculator", arguments='{"expression": "2 ** 9999 - 1 + 2 ** 9999"}')
    result = executor.execute(call)
    largest = 2**10_000 - 1
    assert result.value == {"result": largest}
    assert result.message == "A whole number of 3,011 digits, exact"
    assert json.loads(result.render().partition("\n\n")[2]) == {"result": largest}
    for wire in WIRES:
        assert str(largest) in str(encode_results([result], wire))


def test_every_kind_of_number_survives_every_format():
    executor = ToolExecutor([calculator])
    for expression in (
        "0",
        "-7",
        "1 / 3",
        "5e-324",
        "1.7976931348623157e308 * 1.0",
        "sqrt(2)",
        "1e22",
        "-0.5",
    ):
        result = executor.execute(ToolCall(id="1", name="calculator", arguments={"expression": expression}))
        assert result.value == {"result": value_of(expression)}
        assert json.loads(result.render().partition("\n\n")[2]) == result.value
        for wire in WIRES:
            assert encode_results([result], wire)


def test_refusal_through_the_executor_says_where_and_that_nothing_changed():
    executor = ToolExecutor([calculator])
    form = executor.execute(ToolCall(id="1", name="calculator", arguments={"expression": "2 ^ 3"}))
    assert form.failure.kind == "invalid_arguments"
    assert form.message.startswith(
        "'^' is not known, at character 3: 2 >>>^<<< 3. Write ** for powers. Nothing happened"
    )
    zero = executor.execute(ToolCall(id="2", name="calculator", arguments={"expression": "10 / (3 - 3)"}))
    assert zero.failure.kind == "failed"
    assert zero.message.startswith("Division by zero, at character 4: 10 >>>/<<< (3 - 3). Nothing happened")


def test_arguments_that_look_like_paths_are_shown_unchanged():
    result = execute_tool(calculator, {"expression": "1 /tmp/x"})
    assert "1 />>>tmp<<</x" in result.message


def test_a_process_that_writes_shorter_numbers_gets_a_refusal(monkeypatch):
    monkeypatch.setattr("sys.get_int_max_str_digits", lambda: 640)
    assert message_of("10 ** 639") == "A whole number of 640 digits, exact"
    result = execute_tool(calculator, {"expression": "1 + 10 ** 640"})
    assert result.message.startswith(
        "Too large: this process writes whole numbers of up to 640 digits, at character 3: 1 >>>+<<< 10 ** 640."
    )
