"""Secrets in forms that are easily overlooked: defaults, repairs, whitespace, approvals, refused outputs."""

import json
from dataclasses import dataclass
from typing import Annotated

import pydantic
import pytest
from pydantic import BaseModel, Field, SecretStr, StringConstraints

from tests.cases import each_case, in_case
from tests.execute.calls import call, hear, kind_of
from tests.execute.secret_kit import TOKEN, Credentials, everything_said, nested, scold
from toolhaft import Secret, Tool, ToolCall, ToolExecutor, ToolResult, load_tool, tool
from toolhaft.formats import describe, export_tools

FORMATS = (
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
)


class WithDefault(BaseModel):
    user: str
    token: Annotated[str, Secret] = TOKEN


@dataclass
class Login:
    name: str
    token: Annotated[str, Secret] = TOKEN


@tool
def by_parameter(name: str, token: Annotated[str, Secret] = TOKEN) -> str:
    """Log in."""
    return scold(token)


@tool
def by_optional(name: str, token: Annotated[str | None, Secret] = TOKEN) -> str:
    """Log in."""
    return scold(token)


@tool
def by_model(name: str, inner: WithDefault | None = None) -> str:
    """Log in."""
    return scold(inner.token if inner is not None else name)


@tool
def by_object(name: str, inner: Credentials = Credentials(user="u", token=TOKEN)) -> str:  # noqa: B008 -- copied for each call
    """Log in."""
    return scold(inner.token)


@tool
def by_list(name: str, tokens: list[Annotated[str, Secret]] = [TOKEN]) -> str:  # noqa: B006 -- copied for each call
    """Log in."""
    return scold(tokens)


@tool
def by_secret_str(name: str, token: SecretStr = SecretStr(TOKEN)) -> str:  # noqa: B008 -- frozen
    """Log in."""
    return scold(token.get_secret_value())


def by_dataclass(params: Login, *, context: object) -> ToolResult[str]:
    """Log in."""
    return scold(params.token)


RAW = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "token": {"type": "string", "writeOnly": True, "default": TOKEN, "examples": [TOKEN]},
        "more": {"$ref": "#/$defs/more", "default": {"pin": TOKEN}},
    },
    "required": ["name"],
    "$defs": {"more": {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}}}},
}


def with_defaults(tmp_path):
    (tmp_path / "login.yaml").write_text(
        "id: login\nname: Log in\ndescription: Log in.\nparameters:\n"
        "  - {name: name, type: string, description: Who, required: true}\n"
        f"  - {{name: token, type: string, description: It, required: false, writeOnly: true, default: {TOKEN}}}\n"
    )
    raw = Tool(name="raw", description="Log in.", input_schema=RAW, handler=scold)
    yaml = load_tool(tmp_path / "login.yaml").replace(handler=scold)
    typed = Tool.wrap(by_dataclass)
    return [by_parameter, by_optional, by_model, by_object, by_list, by_secret_str, raw, yaml, typed]


def test_the_default_of_a_secret_is_in_no_export_and_in_no_message(tmp_path):
    for made in with_defaults(tmp_path):
        executor = ToolExecutor([made])
        (converted,) = executor.tools.values()
        for name in FORMATS:
            with in_case(converted.name, name):
                assert TOKEN not in str(export_tools([converted], name).payload)
        assert TOKEN not in json.dumps(converted.input_schema)
        assert TOKEN not in str(converted.validate({}))
        assert TOKEN not in str(converted.validate({"name": 1, "nme": 2}))
        # the handler receives the default and quotes it
        arguments = (
            {"name": "ada", "inner": {"user": "u"}} if converted.name == "by_model" else {"name": "ada"}
        )
        with in_case(converted.name, arguments):
            said, result, _ = everything_said(executor, ToolCall(name=converted.name, arguments=arguments))
            assert kind_of(result) == "failed"
            assert "***" in result.message
            assert TOKEN not in said


class Key(BaseModel):
    name: str = TOKEN


def test_a_default_inside_a_secret_object_or_array_is_in_no_export_and_in_no_message():
    @tool
    def marked(key: Annotated[Key, Secret]) -> str:
        """Log in."""
        return scold(key.name)

    @tool
    def optional(keys: Annotated[list[Key] | None, Secret] = None) -> str:
        """Log in."""
        return scold(keys)

    named = {"type": "string", "default": TOKEN, "examples": [TOKEN]}
    parts = {"type": "object", "properties": {"name": named}}
    for key, more in (
        ({"writeOnly": True, **parts}, {}),
        ({"writeOnly": True, "type": "array", "items": named}, {}),
        ({"allOf": [{"writeOnly": True}], **parts}, {}),
        (
            {"writeOnly": True, "$ref": "#/$defs/one"},
            {"one": {"anyOf": [{"$ref": "#/$defs/two"}]}, "two": parts},
        ),
    ):
        schema = {"type": "object", "properties": {"key": key}, "$defs": more}
        raw = Tool(name="raw", description="Log in.", input_schema=schema, handler=scold)
        for made in (raw, marked, optional):
            with in_case(key, made.name):
                for format in FORMATS:
                    assert TOKEN not in json.dumps(export_tools([made], format).payload)
                for arguments in ({"key": 1.5}, {"key": {}}, {"other": 1}, "{"):
                    said, _, _ = everything_said(
                        ToolExecutor([made]), ToolCall(name=made.name, arguments=arguments)
                    )
                    assert TOKEN not in said


def test_a_default_that_is_not_secret_is_still_shown():
    @tool
    def login(
        token: Annotated[str, Secret], place: str = "home", nothing: Annotated[str | None, Secret] = None
    ) -> str:
        """Log in."""
        return place

    properties = ToolExecutor([login]).tools["login"].input_schema["properties"]
    assert properties["place"]["default"] == "home"
    assert properties["nothing"]["default"] is None


def test_an_example_in_a_message_shows_no_secret():
    @tool(examples=[{"input": {"user": "ada", "token": TOKEN}}])
    def login(user: str, token: Annotated[str, Secret]) -> str:
        """Log in."""
        return user

    said, result, _ = everything_said(
        ToolExecutor([login]),
        call("login", user=1, token="other-secret-9"),  # noqa: S106 -- made up
    )
    assert 'Valid arguments look like: {"user":"ada","token":"***"}' in result.message
    assert TOKEN not in said


def test_an_example_in_an_export_shows_no_secret():
    token = {"type": "string", "writeOnly": True}
    pin = {"type": "integer", "writeOnly": True}
    for schema, given, is_shown in (
        (token, TOKEN, True),
        ({"type": "array", "items": {"type": "object", "properties": {"x": token}}}, [{"x": TOKEN}], True),
        ({**token, "minLength": 8}, TOKEN, False),
        (pin, 987654321, False),
    ):
        example = {"input": {"key": given}, "output": f"with {TOKEN}", "description": f"with {TOKEN}"}
        made = Tool(
            name="login",
            description="Log in.",
            input_schema={"type": "object", "properties": {"key": schema}},
            examples=[example, {"input": {}}],
            handler=scold,
        )
        secret = given if isinstance(given, int) else TOKEN
        for name in FORMATS:
            with in_case(schema, name):
                exported = export_tools([made], name, examples=True)
                assert str(secret) not in str(exported.payload)
                assert ("***" in str(exported.payload)) == is_shown
                lost = [loss.path for loss in exported.losses if "secret" in loss.detail]
                assert lost == ([] if is_shown else ["/examples"])
        assert str(secret) not in describe([made])


@tool
def with_pin(pin: Annotated[int, Secret]) -> str:
    """Unlock."""
    return scold(pin)


@tool
def with_list(tokens: Annotated[list[str], Secret]) -> str:
    """Unlock."""
    return scold(tokens)


@tool
def with_pair(pair: tuple[str, Annotated[str, Secret]]) -> str:
    """Unlock."""
    return scold(pair)


TEXT = json.dumps({"user": "u", "token": TOKEN})


class Pin(pydantic.Secret[int]):
    """A secret of a user's own type."""


class Keys(BaseModel):
    lower: Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True), Secret] = ""
    general: pydantic.Secret[str] = Field(default_factory=lambda: pydantic.Secret(""))
    pin: Pin | None = None


@tool
def with_keys(keys: Keys) -> str:
    """Unlock."""
    pin = None if keys.pin is None else keys.pin.get_secret_value()
    return scold((keys.lower, keys.general.get_secret_value(), pin))


@tool
def with_general(key: pydantic.Secret[str]) -> str:
    """Unlock."""
    return scold(key.get_secret_value())


@each_case(
    "made,arguments,secret",
    [
        # the type changes it, or is not marked by pydantic
        (with_keys, {"keys": {"lower": f" {TOKEN.upper()}"}}, TOKEN),
        (with_keys, {"keys": {"general": TOKEN}}, TOKEN),
        (with_keys, {"keys": {"pin": 48151623}}, "48151623"),
        (with_general, {"key": TOKEN}, TOKEN),
        (with_general, {"key": [TOKEN]}, TOKEN),
        # in the place of an object or an array that contains it
        (nested, {"credentials": f"token={TOKEN}"}, TOKEN),
        (nested, {"credentials": f"{{'token': '{TOKEN}'}}"}, TOKEN),
        (nested, {"credentials": ["u", TOKEN]}, TOKEN),
        (nested, {"credentials": 48151623}, "48151623"),
        (by_list, {"name": "ada", "tokens": {"first": TOKEN}}, TOKEN),
        # one level too deep, in the place of something that is not secret
        (nested, {"credentials": {"user": {"user": "u", "token": TOKEN}}}, TOKEN),
        (nested, {"credentials": {"user": ["u", TOKEN], "token": "x"}}, TOKEN),
        (by_parameter, {"name": {"name": "ada", "token": TOKEN}}, TOKEN),
        (with_pair, {"pair": [["u", TOKEN]]}, TOKEN),
        (nested, {"credentials": TEXT}, TOKEN),
        (nested, json.dumps(json.dumps({"credentials": {"user": "u", "token": TOKEN}})), TOKEN),
        (nested, json.dumps({"credentials": {"user": "u", "token": TOKEN}}).encode(), TOKEN),
        (with_pin, {"pin": "48151623"}, "48151623"),
        (with_pin, {"pin": 48151623.0}, "48151623"),
        (with_list, {"tokens": json.dumps([TOKEN])}, TOKEN),
        # not valid, and so not repaired
        (nested, {"credentials": json.dumps({"usr": "u", "token": TOKEN})}, TOKEN),
        (nested, {"credentials": TEXT[:-2]}, TOKEN),
        (with_list, {"tokens": json.dumps([TOKEN, 1])}, TOKEN),
    ],
)
def test_a_secret_in_another_form_or_place_is_masked(made, arguments, secret):
    executor = ToolExecutor([made])
    said, result, event = everything_said(executor, ToolCall(name=made.name, arguments=arguments))
    assert not result.success
    assert secret not in said + repr(result.repairs) + "".join(map(str, result.repairs))
    assert secret not in event.arguments


@each_case("spaces", [" {} ", "{}\n", "\t{}", "  {}\r\n"])
def test_a_secret_whose_whitespace_is_stripped_is_masked(spaces):
    @tool
    def strip(token: Annotated[str, Secret]) -> str:
        """Log in."""
        return scold(token.strip())

    said, _, _ = everything_said(ToolExecutor([strip]), call("strip", token=spaces.format(TOKEN)))
    assert TOKEN not in said


def test_the_repr_of_a_pending_approval_shows_no_value():
    executor = ToolExecutor([nested], policy=lambda _: "ask")
    result = executor.execute(call("nested", credentials={"user": "u", "token": TOKEN}))
    assert TOKEN not in repr(result.pending) + repr(result) + f"{result.pending}" + repr(result.failure)
    assert TOKEN in result.pending.to_json()
    assert result.pending.id in repr(result.pending)


class Shown:
    """A value whose own `render` shows what its JSON does not."""

    def __init__(self, token):
        self.token = token

    def render(self):
        return f"the token is {self.token}"


@each_case(
    "wrap",
    [
        lambda token: token,
        lambda token: f"it is {token}",
        lambda token: {"token": [token], token: 1},
        lambda token: Credentials(user="u", token=token),
        lambda token: (token, {"a": token.strip()}),
        Shown,
        lambda token: ToolResult.ok({"token": token}, message=f"got {token}"),
    ],
)
def test_a_value_that_does_not_fit_its_output_schema_keeps_no_secret(wrap):
    made = Tool(
        name="echo",
        description="Echo.",
        input_schema={"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}},
        output_schema={"type": "integer"},
        handler=lambda given: wrap(given["token"]),
    )
    executor = ToolExecutor([made])
    events = hear(executor)
    result = executor.execute(call("echo", token=TOKEN))
    assert kind_of(result) == "invalid_output"
    told = f"{result!r} {result.render()} {result.message} {result.value!r} {result.failure!r} {events}"
    assert TOKEN not in told + repr(vars(result.value) if isinstance(result.value, Shown) else "")


def test_a_failed_value_without_secrets_is_kept():
    @tool
    def check(token: Annotated[str, Secret]) -> str:
        """Check it."""
        return ToolResult.error("refused", value={"reason": "too old", "at": pytest})

    value = ToolExecutor([check]).execute(call("check", token=TOKEN)).value
    assert value == {"reason": "too old", "at": pytest}
