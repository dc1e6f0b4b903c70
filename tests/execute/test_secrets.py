"""Secrets: `Annotated[str, Secret]` never reaches an event, an error or a log.

Keeps issue 3 (*Failure semantics*) and threats (*telemetry*: keys in arguments; an error holds no secret).
"""

import asyncio
import logging
import time
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, TypedDict

import pytest
from pydantic import BaseModel, Field

from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import (
    RetryPolicy,
    Secret,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
    create_tool,
    tool,
)
from toolhaft.errors import PromptEvaluationError, ToolExecutionError

TOKEN = "hunter22-swordfish"  # noqa: S105 -- made up


class Credentials(BaseModel):
    user: str
    token: Annotated[str, Secret]


class Node(BaseModel):
    token: Annotated[str, Secret]
    child: "Node | None" = None


@dataclass
class Login:
    user: str
    token: Annotated[str, Secret]


class TypedLogin(TypedDict):
    user: str
    token: Annotated[str, Secret]


def scold(value):
    """What careless handlers do."""
    raise ToolExecutionError(f"cannot use {value!r}")


def everything_said(executor, one, run=lambda executor, one: executor.execute(one)):
    """All that a call tells anybody, as one text, and its result."""
    events = hear(executor)
    result = run(executor, one)
    (event,) = events
    failure = result.failure
    told = [result.message, result.render() if not result.success else "", repr(event), str(event.to_dict())]
    if failure is not None:
        told += [repr(failure), failure.advice, repr(failure.error), *map(str, failure.problems)]
    return "\n".join(told), result, event


def assert_hidden(executor, one, secret=TOKEN, **rest):
    said, result, event = everything_said(executor, one, **rest)
    assert secret not in said
    return result, event


# --- where a secret may stand ---


@tool
def plain(user: str, token: Annotated[str, Secret]) -> str:
    """Log in."""
    return scold(token)


@tool
def nested(credentials: Credentials) -> str:
    """Log in."""
    return scold(credentials)


@tool
def listed(all_of_them: list[Credentials]) -> str:
    """Log in."""
    return scold(all_of_them)


@tool
def mapped(by_name: dict[str, Annotated[str, Secret]]) -> str:
    """Log in."""
    return scold(by_name)


@tool
def paired(pair: tuple[Credentials, int]) -> str:
    """Log in."""
    return scold(pair)


@tool
def optional(token: Annotated[str | None, Secret] = None) -> str:
    """Log in."""
    return scold(token)


@tool
def optional_inside(token: Annotated[str, Secret] | None = None) -> str:
    """Log in."""
    return scold(token)


@tool
def either(which: Credentials | int) -> str:
    """Log in."""
    return scold(which)


@tool
def whole(credentials: Annotated[dict[str, str], Secret]) -> str:
    """Log in."""
    return scold(credentials)


@tool
def in_dataclass(login: Login) -> str:
    """Log in."""
    return scold(login)


@tool
def in_typed_dict(login: TypedLogin) -> str:
    """Log in."""
    return scold(login)


CREDENTIALS = {"user": "u", "token": TOKEN}
PLACES = [
    (plain, {"user": "u", "token": TOKEN}),
    (nested, {"credentials": CREDENTIALS}),
    (listed, {"all_of_them": [CREDENTIALS, CREDENTIALS]}),
    (mapped, {"by_name": {"a": TOKEN}}),
    (paired, {"pair": [CREDENTIALS, 1]}),
    (optional, {"token": TOKEN}),
    (optional_inside, {"token": TOKEN}),
    (either, {"which": CREDENTIALS}),
    (whole, {"credentials": {"a": TOKEN}}),
    (in_dataclass, {"login": CREDENTIALS}),
    (in_typed_dict, {"login": CREDENTIALS}),
]


@both_ways
@pytest.mark.parametrize(("made", "arguments"), PLACES, ids=[made.name for made, _ in PLACES])
def test_a_secret_anywhere_in_the_arguments_is_masked(run, made, arguments):
    result, event = assert_hidden(
        ToolExecutor([made]), ToolCall(name=made.name, arguments=arguments), run=run
    )
    assert kind_of(result) == "failed"
    assert "***" in event.arguments
    assert "cannot use" in result.message


@both_ways
def test_a_typed_tools_secret_is_masked(run):
    def handle(params: Login, *, context: ToolContext) -> ToolResult[str]:
        """Log in."""
        return ToolResult.error(f"no {params.token}")

    made = Tool[Login, str](name="login", description="Log in.", handler=handle)
    _, event = assert_hidden(ToolExecutor([made]), ToolCall(name="login", arguments=CREDENTIALS), run=run)
    assert event.arguments == '{"token":"***","user":"u"}'


def test_only_the_secret_is_masked():
    _, event = assert_hidden(ToolExecutor([nested]), call("nested", credentials=CREDENTIALS))
    assert event.arguments == '{"credentials":{"token":"***","user":"u"}}'


def test_a_secret_that_was_not_given_is_not_invented():
    executor = ToolExecutor([optional])
    events = hear(executor)
    executor.execute(call("optional"))
    executor.execute(call("optional", token=None))
    assert [event.arguments for event in events] == ["{}", '{"token":null}']


def test_secrets_are_masked_however_deep_they_stand():
    @tool
    def deep(node: Node) -> str:
        """Log in."""
        return scold(node)

    node = None
    for level in range(20):
        node = {"token": f"{TOKEN}-{level:02}", "child": node}
    _, event = assert_hidden(ToolExecutor([deep]), call("deep", node=node))
    assert event.arguments.count("***") == 20


RAW = {
    "writeOnly": ({"properties": {"t": {"type": "string", "writeOnly": True}}}, {"t": TOKEN}),
    "password": ({"properties": {"t": {"type": "string", "format": "password"}}}, {"t": TOKEN}),
    "additionalProperties": ({"additionalProperties": {"type": "string", "writeOnly": True}}, {"x": TOKEN}),
    "patternProperties": ({"patternProperties": {"^t": {"writeOnly": True}}}, {"tok": TOKEN}),
    "patternProperties beside properties": (
        {"properties": {"tok": {"type": "string"}}, "patternProperties": {"^t": {"writeOnly": True}}},
        {"tok": TOKEN},
    ),
    "items": (
        {"properties": {"p": {"type": "array", "items": {"type": "string", "writeOnly": True}}}},
        {"p": [TOKEN]},
    ),
    "prefixItems": (
        {
            "properties": {
                "p": {
                    "type": "array",
                    "prefixItems": [{"properties": {"t": {"type": "string", "writeOnly": True}}}],
                }
            }
        },
        {"p": [{"t": TOKEN}]},
    ),
    "$defs": (
        {"properties": {"a": {"$ref": "#/$defs/S"}}, "$defs": {"S": {"type": "string", "writeOnly": True}}},
        {"a": TOKEN},
    ),
    "$defs with an escaped name": (
        {
            "properties": {"a": {"$ref": "#/$defs/a~1b"}},
            "$defs": {"a/b": {"type": "string", "writeOnly": True}},
        },
        {"a": TOKEN},
    ),
    "$defs with an encoded name": (
        {
            "properties": {"a": {"$ref": "#/$defs/a%20b"}},
            "$defs": {"a b": {"type": "string", "writeOnly": True}},
        },
        {"a": TOKEN},
    ),
    "$anchor": (
        {
            "properties": {"a": {"$ref": "#S"}},
            "$defs": {"S": {"$anchor": "S", "type": "string", "writeOnly": True}},
        },
        {"a": TOKEN},
    ),
    "definitions": (
        {
            "properties": {"a": {"$ref": "#/definitions/S"}},
            "definitions": {"S": {"type": "string", "writeOnly": True}},
        },
        {"a": TOKEN},
    ),
    "a ref to a property": (
        {"properties": {"a": {"type": "string", "writeOnly": True}, "b": {"$ref": "#/properties/a"}}},
        {"b": TOKEN},
    ),
    "a ref to the root": (
        {"properties": {"t": {"type": "string", "writeOnly": True}, "kid": {"$ref": "#"}}},
        {"kid": {"kid": {"t": TOKEN}}},
    ),
    "anyOf": (
        {"properties": {"t": {}}, "anyOf": [{"properties": {"t": {"type": "string", "writeOnly": True}}}]},
        {"t": TOKEN},
    ),
    "oneOf": (
        {"properties": {"t": {"oneOf": [{"type": "string", "writeOnly": True}, {"type": "integer"}]}}},
        {"t": TOKEN},
    ),
    "allOf": (
        {"properties": {"t": {"allOf": [{"type": "string"}, {"writeOnly": True}]}}},
        {"t": TOKEN},
    ),
    "if and then": (
        {
            "properties": {"t": {"type": "string"}},
            "if": {"required": ["t"]},
            "then": {"properties": {"t": {"writeOnly": True}}},
        },
        {"t": TOKEN},
    ),
    "dependentSchemas": (
        {
            "properties": {"t": {"type": "string"}},
            "dependentSchemas": {"t": {"properties": {"t": {"writeOnly": True}}}},
        },
        {"t": TOKEN},
    ),
}


@pytest.mark.parametrize(("schema", "arguments"), RAW.values(), ids=RAW)
def test_a_raw_schemas_write_only_value_is_masked(schema, arguments):
    """Secret's docstring: in a raw JSON Schema the same is said with `"writeOnly": true`."""
    made = create_tool(
        ToolConfig(
            name="raw", description="Log in.", input_schema={"type": "object", **schema}, execute=scold
        )
    )
    result, event = assert_hidden(ToolExecutor([made]), ToolCall(name="raw", arguments=arguments))
    assert kind_of(result) == "failed"
    assert "***" in event.arguments


def test_masking_takes_no_longer_than_the_schema_is_large():
    """Threats: no refusal takes more than a second, whatever the schema."""
    defs = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(11)
    }
    defs["d11"] = {"properties": {"t": {"type": "string", "writeOnly": True}}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}
    made = create_tool(ToolConfig(name="raw", description="Log in.", input_schema=schema, execute=scold))
    executor = ToolExecutor([made])
    began = time.monotonic()
    assert_hidden(executor, ToolCall(name="raw", arguments={"a": {"t": TOKEN}}))
    assert time.monotonic() - began < 1


# --- ways to fail ---


@both_ways
@pytest.mark.parametrize(
    "arguments",
    [
        {"user": 5, "token": TOKEN},
        {"token": TOKEN},
        {"user": "u", "token": [TOKEN]},
        {"user": "u", "token": {"a": TOKEN}},
        {"user": "u", "token": TOKEN, "more": 1},
        {"user": "u", "tokn": TOKEN},
        {"user": TOKEN, "token": TOKEN, "more": 1},
        [TOKEN],
        TOKEN,
        f'{{"user": "u", "token": "{TOKEN}"',
        f'{{"user": "u", "token": "{TOKEN}", "token": "{TOKEN}"}}',
        f'{{"user": "u", "token": "{TOKEN}"}} x',
        MappingProxyType({"user": 5, "token": TOKEN}),
    ],
    ids=repr,
)
def test_arguments_that_are_not_valid_do_not_give_the_secret_away(run, arguments):
    result, _ = assert_hidden(ToolExecutor([plain]), ToolCall(name="plain", arguments=arguments), run=run)
    assert not result.success


@pytest.mark.parametrize("text", ["cut it short " * 60, "ä€😀" * 100, 'with "quotes" and \\ \n' * 30])
@pytest.mark.parametrize("kind", [int, Annotated[str, Field(max_length=5)]], ids=["wrong type", "too long"])
def test_a_long_secret_is_not_shown_in_part(kind, text):
    """A problem shows the beginning of a long value: never of a secret one."""
    secret = f"{TOKEN}{text}"

    def login(token):
        return token

    login.__annotations__ = {"token": Annotated[kind, Secret], "return": str}
    made = tool(login, name="login", description="Log in.")
    result, _ = assert_hidden(ToolExecutor([made]), call("login", token=secret), secret=TOKEN[:8])
    assert kind_of(result) == "invalid_arguments"


def test_a_number_can_be_a_secret():
    @tool
    def login(pin: Annotated[int, Secret]) -> str:
        """Log in."""
        return scold(pin)

    _, event = assert_hidden(ToolExecutor([login]), call("login", pin=90210417), secret="90210417")  # noqa: S106 -- made up
    assert event.arguments == '{"pin":"***"}'


@pytest.mark.parametrize("before", range(1960, 2000, 5))
def test_a_secret_across_the_cut_of_a_long_message_is_masked(before):
    """A message is cut after secrets were hidden, or a part of one would be left."""

    @tool
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ToolExecutionError("x" * before + token)

    said, _, _ = everything_said(ToolExecutor([login]), call("login", token=TOKEN))
    assert TOKEN[:6] not in said


@each_way
@pytest.mark.parametrize(
    "make",
    [
        lambda token: ToolResult.error(f"bad {token}"),
        scold,
        lambda token: (_ for _ in ()).throw(KeyError(token)),
        lambda token: ["wrong type", token],
    ],
    ids=["error result", "tool error", "key error", "invalid output"],
)
def test_a_failed_call_does_not_tell_the_secret(run, make):
    @tool(name="login")
    def login(token: Annotated[str, Secret]) -> int:
        """Log in."""
        made = make(token)
        return next(made) if hasattr(made, "__next__") else made

    result, _ = assert_hidden(ToolExecutor([login]), call("login", token=TOKEN), run=run)
    assert not result.success


@both_ways
def test_a_success_that_mentions_the_secret_is_masked_in_the_event(run):
    """Issue 3: never reaches an event; what the handler itself tells the model is the handler's."""

    @tool
    def login(token: Annotated[str, Secret]):
        """Log in."""
        return ToolResult.ok(1, f"in with {token}")

    executor = ToolExecutor([login])
    events = hear(executor)
    assert run(executor, call("login", token=TOKEN)).success
    assert TOKEN not in repr(events)


@both_ways
def test_automatic_repeats_do_not_tell_the_secret(run):
    """`ToolInvoked.repeats`: why each automatic try failed, secrets masked."""

    @tool(effect="read")
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ConnectionError(f"no line for {token}")

    executor = ToolExecutor([login], retry=RetryPolicy(max_attempts=3, backoff_s=0))
    _, event = assert_hidden(executor, call("login", token=TOKEN), run=run)
    assert len(event.repeats) == 2
    assert "***" in event.repeats[0]


def test_what_changed_between_attempts_does_not_tell_the_secret():
    executor = ToolExecutor([plain])
    events = hear(executor)
    executor.execute(call("plain", user="u", token=TOKEN))
    executor.execute(call("plain", user="v", token=f"{TOKEN}2"))
    assert TOKEN not in repr(events)
    assert events[1].changed == (("user", '"u"', '"v"'),)


@pytest.mark.parametrize("error", [PromptEvaluationError, KeyboardInterrupt])
def test_what_goes_through_to_the_caller_does_not_tell_the_secret_to_listeners(error):
    @tool
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise error(f"bad {token}")

    executor = ToolExecutor([login])
    events = hear(executor)
    with pytest.raises(error):
        executor.execute(call("login", token=TOKEN))
    assert TOKEN not in repr(events)
    assert events[0].success is False


def test_a_cancelled_call_does_not_tell_the_secret():
    @tool
    async def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        await asyncio.sleep(5)

    executor = ToolExecutor([login])
    events = hear(executor)

    async def main():
        task = asyncio.create_task(executor.aexecute(call("login", token=TOKEN)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert events[0].kind == "cancelled"
    assert TOKEN not in repr(events)


def test_a_misspelt_name_does_not_tell_the_secret():
    """The model's own mistakes must not put a secret into a log."""
    for one in (
        call("plian", user="u", token=TOKEN),
        call("plain", user="u", tokne=TOKEN),
        call("nested", credentials={"user": "u", "tokne": TOKEN}),
        call("nested", credentails=CREDENTIALS),
    ):
        result, _ = assert_hidden(ToolExecutor([plain, nested]), one)
        assert not result.success


def test_nothing_of_a_secret_is_logged(caplog):
    """Issue 3: never reaches a log."""
    caplog.set_level(logging.DEBUG)
    executor = ToolExecutor([plain])

    def broken(event):
        raise RuntimeError(repr(event))

    executor.session.dispatcher.subscribe(ToolInvoked, broken)
    executor.execute(call("plain", user="u", token=TOKEN))
    assert "RuntimeError" in caplog.text
    assert TOKEN not in caplog.text


# --- where it does go ---


@each_way
def test_the_handler_is_given_the_secret_itself(run):
    """Secret's docstring: the value reaches the handler and nothing else."""
    seen = []

    @tool
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        seen.append(token)
        return "in"

    assert run(ToolExecutor([login]), call("login", token=TOKEN)).value == "in"
    assert seen == [TOKEN]


def test_a_tool_without_secrets_is_not_masked():
    @tool
    def search(query: str) -> str:
        """Search."""
        raise ToolExecutionError(f"nothing for {query}")

    executor = ToolExecutor([search])
    events = hear(executor)
    assert "nothing for books" in executor.execute(call("search", query="books")).message
    assert events[0].arguments == '{"query":"books"}'
