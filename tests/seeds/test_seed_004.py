"""Seed 004, Tool API Contract: its definitions, translated from Haskell to Python.

Knows the page; the schemas of its built-in tools have a file of their own. How a call is executed, retried
and timed is tested where it is built.
"""

import asyncio
import copy
import json
import threading

import pytest

from tests.cases import each_case
from toolhaft import (
    InvalidArguments,
    ToolCall,
    ToolConfig,
    ToolExecutor,
    ToolRegistry,
    ValidArguments,
    create_tool,
    validate_tool_input,
    validate_tool_output,
)
from toolhaft.errors import (
    DefinitionError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolhaftError,
    ToolTimeoutError,
    ToolValidationError,
)


def fetch_weather(city: str) -> float:
    return {"Oslo": -3.5}[city]


def execute_weather(input: dict) -> dict:
    # Fetch weather from API
    city = input.get("city")
    if city is None:
        raise ToolValidationError("Missing city")
    temp = fetch_weather(city)
    return {"temperature": temp, "conditions": "sunny"}


weather_tool = create_tool(
    ToolConfig(
        name="get_weather",
        description="Get current weather for a city",
        input_schema={
            "type": "object",
            "properties": {
                "city": {
                    "type": "string",
                    "description": "City name",
                },
            },
            "required": ["city"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "temperature": {"type": "number"},
                "conditions": {"type": "string"},
            },
        },
        execute=execute_weather,
        timeout_s=5,  # 5 seconds
        retryable=True,
    )
)


def test_seed_004_create_tool_example_is_a_tool_ready_to_be_used():
    """Seed 004, *createTool*."""
    assert (weather_tool.name, weather_tool.description) == ("get_weather", "Get current weather for a city")
    assert (weather_tool.handler, weather_tool.timeout_s, weather_tool.retryable) == (
        execute_weather,
        5,
        True,
    )
    assert ToolRegistry([weather_tool]).to_spec_dict() == {
        "tools": [
            {
                "name": "get_weather",
                "description": "Get current weather for a city",
                "input_schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "City name"}},
                    "required": ["city"],
                },
                "output_schema": {
                    "type": "object",
                    "properties": {"temperature": {"type": "number"}, "conditions": {"type": "string"}},
                },
                "timeout_s": 5,
            }
        ]
    }


def test_seed_004_create_tool_example_checks_input_runs_and_checks_output():
    """Seed 004, *createTool*: the example from end to end."""
    verdict = weather_tool.validate('{"city": "Oslo"}')
    assert verdict == ValidArguments({"city": "Oslo"})
    value = weather_tool.handler(verdict.params)
    assert value == {"temperature": -3.5, "conditions": "sunny"}
    assert validate_tool_output(weather_tool, value) is None


def test_seed_004_create_tool_example_says_missing_city():
    """Seed 004, *createTool*: `Left $ ToolValidationError "Missing city"`."""
    with pytest.raises(ToolValidationError, match=r"^Missing city$"):
        weather_tool.handler({})
    verdict = weather_tool.validate({})
    assert isinstance(verdict, InvalidArguments)
    assert [problem.path for problem in verdict.problems] == ["city"]


def test_seed_004_tool_config_defaults():
    """Seed 004, *createTool*: Nothing = 10s, Default True; *Retry Policy*: up to 3 times."""
    made = create_tool(ToolConfig(name="wait", description="Wait.", input_schema={"type": "object"}))
    assert (made.timeout_s, made.retryable, made.max_attempts) == (10, True, 3)
    assert (made.output_schema, made.handler) == (None, None)


def test_seed_004_tool_config_timeout_of_nothing_is_ten_seconds():
    """Seed 004, *createTool*: `toolConfigTimeout :: Maybe Int`, Nothing = 10s."""
    config = ToolConfig(name="wait", description="Wait.", input_schema={"type": "object"}, timeout_s=None)
    assert create_tool(config).timeout_s == 10


def test_seed_004_tool_config_execute_may_be_async():
    """Seed 004, *createTool*: execute runs in IO; here it may be awaited."""

    async def execute(input: dict) -> dict:
        return execute_weather(input)

    made = create_tool(
        ToolConfig(
            name="get_weather",
            description="Get current weather for a city",
            input_schema=weather_tool.input_schema,
            output_schema=weather_tool.output_schema,
            execute=execute,
        )
    )
    assert asyncio.run(made.handler({"city": "Oslo"})) == {"temperature": -3.5, "conditions": "sunny"}


@each_case(
    ("changes", "place"),
    [
        ({"name": "get weather"}, "name"),
        ({"description": ""}, "description"),
        ({"input_schema": {"type": "string"}}, "input_schema"),
        ({"input_schema": {"type": "object", "properties": {"city": {"type": "text"}}}}, "input_schema"),
        ({"input_schema": {"type": "object", "required": "city"}}, "input_schema"),
        ({"output_schema": {"type": "thing"}}, "output_schema"),
        ({"execute": "execute_weather"}, "execute"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": "5"}, "timeout_s"),
        ({"retryable": "yes"}, "retryable"),
    ],
)
def test_seed_004_a_tool_config_that_makes_no_sense_is_refused_with_its_place(changes, place):
    """Seed 004, *createTool*: every field of ToolConfig."""
    config = {"name": "get_weather", "description": "Get it.", "input_schema": {"type": "object"}, **changes}
    with pytest.raises(DefinitionError) as caught:
        create_tool(ToolConfig(**config))
    assert caught.value.place.startswith(place)
    assert f"tool {config['name']!r}" in str(caught.value)


@pytest.mark.parametrize("city", ["Oslo", ""])
def test_seed_004_validate_tool_input_of_valid_input_is_none(city):
    """Seed 004, *validateToolInput*: `Right ()` if valid."""
    assert validate_tool_input(weather_tool, {"city": city}) is None
    assert validate_tool_input(weather_tool, json.dumps({"city": city})) is None


@each_case(
    ("value", "line"),
    [
        ({}, "- city: missing; expected a string"),
        ({"city": 5}, "- city: got 5; expected a string"),
        ({"city": "Oslo", "country": "NO"}, "- country: unknown"),
        ("not JSON", "- arguments: not valid JSON"),
        ([], "- arguments: "),
        (None, "- arguments: "),
    ],
)
def test_seed_004_validate_tool_input_of_invalid_input_is_an_error_message(value, line):
    """Seed 004, *validateToolInput*: `Left errorMessage` if validation fails; the same as a model gets."""
    message = validate_tool_input(weather_tool, value)
    assert message == weather_tool.validate(value).message
    assert message.splitlines()[1].startswith(line)
    assert message.splitlines()[-1] == 'Valid arguments look like: {"city":"text"}'


@pytest.mark.parametrize(
    "value",
    [{"temperature": -3.5, "conditions": "sunny"}, {"temperature": 21}, {}, {"humidity": 0.5}],
)
def test_seed_004_validate_tool_output_of_valid_output_is_none(value):
    """Seed 004, *validateToolOutput*: its schema requires nothing and closes nothing."""
    assert validate_tool_output(weather_tool, value) is None


@each_case(
    ("value", "place"),
    [
        ({"temperature": "cold"}, "temperature: "),
        ({"temperature": True}, "temperature: "),
        ({"conditions": None}, "conditions: "),
        ("sunny", "value: "),
        (None, "value: "),
        ({"temperature": float("nan")}, "temperature: "),
        ({"temperature": object()}, "the value has no JSON form: "),
    ],
)
def test_seed_004_validate_tool_output_of_invalid_output_is_an_error_message(value, place):
    """Seed 004, *validateToolOutput*."""
    assert validate_tool_output(weather_tool, value).startswith(place)


def test_seed_004_without_an_output_schema_every_output_is_valid():
    """Seed 004, *validateToolOutput*: nothing to validate against."""
    made = create_tool(ToolConfig(name="wait", description="Wait.", input_schema={"type": "object"}))
    assert validate_tool_output(made, object()) is None


@pytest.mark.parametrize(
    ("error", "twin", "text"),
    [
        (ToolExecutionError("File not found: /tmp/data.txt"), RuntimeError, "File not found: /tmp/data.txt"),
        (ToolTimeoutError(), TimeoutError, ""),
        (ToolValidationError("Missing city"), ValueError, "Missing city"),
        (ToolAuthorizationError(), PermissionError, ""),
    ],
    ids=lambda part: type(part).__name__,
)
def test_seed_004_error_types_are_exceptions_with_a_twin_in_python(error, twin, text):
    """Seed 004, *Error Types*: two with a text, two without."""
    assert isinstance(error, ToolError)
    assert isinstance(error, ToolhaftError)
    assert isinstance(error, twin)
    assert str(error) == text


@pytest.mark.parametrize(
    "message",
    [
        "File not found: /tmp/data.txt",
        "Permission denied: /etc/shadow",
        "Database connection failed. Check DB_URL environment variable.",
        "Error",
    ],
)
def test_seed_004_error_messages_reach_the_caller_word_for_word(message):
    """Seed 004, *readFileTool*: Errors; *Custom Tool Best Practices*: the good message and the bad."""

    def execute(input: dict) -> dict:
        raise ToolExecutionError(message)

    made = create_tool(
        ToolConfig(name="query", description="Query.", input_schema={"type": "object"}, execute=execute)
    )
    with pytest.raises(ToolExecutionError) as caught:
        made.handler({})
    assert str(caught.value) == message


def test_seed_004_example_retry_flow_as_far_as_the_handler():
    """Seed 004, *Retry Policy*: Example Retry Flow."""
    files = {"/tmp/data.json": "{}"}  # noqa: S108 -- the page's path; nothing is written

    def execute(input: dict) -> dict:
        if input["path"] not in files:
            raise ToolExecutionError(f"File not found: {input['path']}")
        return {"content": files[input["path"]], "size": len(files[input["path"]])}

    read_file = create_tool(
        ToolConfig(
            name="read_file",
            description="Reads file content as text.",
            input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            execute=execute,
        )
    )
    with pytest.raises(ToolExecutionError, match=r"^File not found: /tmp/data\.txt$"):
        read_file.handler(read_file.validate('{"path": "/tmp/data.txt"}').params)
    assert read_file.handler(read_file.validate('{"path": "/tmp/data.json"}').params) == {
        "content": "{}",
        "size": 2,
    }


def test_seed_004_error_types_are_returned_with_the_failure():
    """Seed 004, *Error Types* (`deriving (Show, Eq)`), where the executor decides as well as the handler."""

    def execute(input: dict) -> dict:
        if input["city"] == "Atlantis":
            raise ToolExecutionError("no such city")
        over.wait(30)
        return {"temperature": 1}

    over = threading.Event()

    made = create_tool(
        ToolConfig(
            name="get_weather",
            description="Get it.",
            input_schema=BARE_INPUT,
            execute=execute,
        )
    )
    atlantis, oslo, invalid = ({"city": "Atlantis"}, {"city": "Oslo"}, {"city": 5})
    for arguments, allow, kind, error in (
        (atlantis, None, "failed", ToolExecutionError),
        (oslo, None, "timeout", ToolTimeoutError),
        (invalid, None, "invalid_arguments", ToolValidationError),
        (oslo, [], "not_allowed", ToolAuthorizationError),
    ):
        results = [
            ToolExecutor([made.replace(timeout_s=0.1 if kind == "timeout" else 10)], allow=allow).execute(
                ToolCall(name="get_weather", arguments=arguments)
            )
            for _ in range(2)
        ]
        assert [(result.failure.kind, type(result.failure.error)) for result in results] == [
            (kind, error)
        ] * 2
        assert results[0].failure.error == results[1].failure.error
        with pytest.raises(error) as caught:
            results[0].unwrap()
        assert caught.value == results[1].failure.error
    over.set()


BARE_INPUT = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_seed_004_tool_instances_are_immutable():
    """Seed 004, *Thread Safety*."""
    with pytest.raises(AttributeError, match="frozen"):
        weather_tool.timeout_s = 60
    with pytest.raises(AttributeError, match="frozen"):
        del weather_tool.handler
    assert weather_tool.timeout_s == 5


def test_seed_004_a_tool_does_not_change_when_the_schema_given_to_it_does():
    """Seed 004, *Thread Safety*: immutable also through the back door."""
    schema = copy.deepcopy(BARE_INPUT)
    made = create_tool(ToolConfig(name="get_weather", description="Get it.", input_schema=schema))
    schema["properties"]["city"]["type"] = "integer"
    schema["required"].clear()
    assert made.input_schema == BARE_INPUT
    assert isinstance(made.validate({}), InvalidArguments)


def test_seed_004_strict_schemas_name_required_fields_and_types():
    """Seed 004, *Custom Tool Best Practices*: Strict Schemas."""
    strict = {**BARE_INPUT, "additionalProperties": False}
    made = create_tool(ToolConfig(name="get_weather", description="Get it.", input_schema=strict))
    assert made.input_schema == strict
    assert validate_tool_input(made, {"city": "Oslo"}) is None
    assert validate_tool_input(made, {"city": "Oslo", "unit": "C"}) is not None


def test_seed_004_idempotency_names_the_arguments_that_make_the_key():
    """Seed 004, *Custom Tool Best Practices*: Idempotency, declared where the tool is made."""
    config = {"name": "get_weather", "description": "Get it.", "input_schema": BARE_INPUT}
    made = create_tool(ToolConfig(**config, effect="idempotent", idempotency=["city"]))
    assert (made.effect, made.idempotency) == ("idempotent", ("city",))
    with pytest.raises(DefinitionError, match="'town' is not a parameter"):
        create_tool(ToolConfig(**config, effect="idempotent", idempotency=["town"]))
