"""Secrets: `Annotated[str, Secret]` never reaches an event, an error or a log."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

from pydantic import BaseModel

from tests.cases import each_case, in_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from tests.execute.secret_kit import (
    CREDENTIALS,
    TOKEN,
    Credentials,
    assert_hidden,
    nested,
    plain,
    scold,
)
from toolhaft import (
    Secret,
    Tool,
    ToolCall,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolResult,
    create_tool,
    tool,
)
from toolhaft.core import masking
from toolhaft.errors import ToolExecutionError


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


# --- where a secret may stand ---


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
@each_case(("made", "arguments"), PLACES, ids=[made.name for made, _ in PLACES])
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
    assert [event.arguments for event in events] == ['{"token":null}'] * 2


def test_deeply_nested_secrets_are_masked():
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


@each_case(("schema", "arguments"), RAW.values(), ids=RAW)
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


def ladder(levels, step):
    """A schema in which each of many levels refers to the next one twice."""
    defs = {f"d{n}": step({"$ref": f"#/$defs/d{n + 1}"}) for n in range(levels)}
    defs[f"d{levels}"] = {"properties": {"t": {"type": "string", "writeOnly": True}}}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}


def in_objects(levels, value):
    for _ in range(levels):
        value = {"x": value}
    return value


def test_masking_visits_each_part_of_a_schema_once_per_value(monkeypatch):
    """Threats: no refusal takes more than a second, whatever the schema."""
    visits = []
    same_value = masking._Masker._same_value  # noqa: SLF001 -- its work is counted

    def counted(self, node):
        visits.append(1)
        return same_value(self, node)

    monkeypatch.setattr(masking._Masker, "_same_value", counted)  # noqa: SLF001 -- its work is counted
    node = {"anyOf": [{"properties": {"x": {"$ref": "#/$defs/n"}, name: {}}} for name in "tuv"]}
    recursive = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}}
    recursive["properties"]["t"] = {"type": "string", "writeOnly": True}
    for schema, arguments in (
        (ladder(8, lambda following: {"allOf": [following, following]}), {"a": {"t": TOKEN}}),
        (
            ladder(12, lambda following: {"anyOf": [{"properties": {"x": following}} for _ in range(2)]}),
            {"a": in_objects(12, {"t": TOKEN})},
        ),
        (recursive, {"a": in_objects(12, {}), "t": TOKEN}),
    ):
        with in_case(schema):
            made = Tool(name="raw", description="Log in.", input_schema=schema, handler=scold)
            visits.clear()
            assert_hidden(ToolExecutor([made]), ToolCall(name="raw", arguments=arguments))
            assert len(visits) < 1_500


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
