"""What the model does not need is not a loss, and is listed separately."""

from tests.cases import each_case
from toolhaft import Catalog, Principal, Tool, ToolExecutor, ToolRegistry, tool
from toolhaft.core.options import resolve_options
from toolhaft.formats import FORMATS, PolicyField, describe, export_tools

OPTIONS = {
    "effect": "read",
    "timeout_s": 3.0,
    "retryable": False,
    "max_attempts": 5,
    "isolation": "inline",
    "requires": ("net",),
    "idempotency": ("key",),
    "rate": "5/min",
    "max_parallel": 2,
    "cache_s": 60.0,
    "metadata": {"team": "a"},
    "tags": ("web",),
    "version": "1.0",
    "accepts_overrides": False,
}
SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}}


@each_case("format", FORMATS)
def test_options_that_are_not_for_the_model_are_no_losses(format):
    made = Tool(name="all", description="d", input_schema=SCHEMA, **OPTIONS)
    export = export_tools([made, Tool(name="plain", description="d")], format)
    carried = {"native": {*OPTIONS}, "mcp": {"effect"}}.get(format, set())
    assert export.policy_fields == tuple(
        PolicyField("all", name, value)
        for name in resolve_options({})
        for option, value in OPTIONS.items()
        if option == name and name not in carried
    )
    assert export.losses == ()


def test_a_hint_for_another_format_is_a_loss_and_no_policy_field():
    made = Tool(name="a", description="d", metadata={"wire": {"defer_loading": True}})
    export = export_tools([made], "openai_chat")
    assert (len(export.losses), export.policy_fields) == (1, ())


def test_a_policy_field_reads_as_a_sentence():
    (field,) = export_tools([Tool(name="a", description="d", effect="read")], "openai_chat").policy_fields
    assert str(field) == "a: effect is kept by Toolhaft and not sent"


@tool(requires=["net"])
def fetch(url: str) -> str:
    """Fetch a page."""
    return url


@tool
def add(a: int) -> int:
    """Add."""
    return a


@each_case(
    ("source", "names"),
    [
        (ToolExecutor([fetch, add]), ["fetch", "add"]),
        (ToolExecutor([fetch, add], allow=["add"]), ["add"]),
        (ToolExecutor([fetch, add], principal=Principal(id="ann")), ["add"]),
        (ToolExecutor([fetch, add], principal=Principal(id="ann", scopes=["net"])), ["fetch", "add"]),
        (ToolExecutor([fetch, add], principal=Principal(sees=["fetch"], scopes=["net"])), ["fetch"]),
        (ToolRegistry([fetch, add]), ["fetch", "add"]),
        (ToolRegistry([fetch, add]).registry, ["fetch", "add"]),
        (Catalog([fetch, add]), ["add", "fetch"]),
        ({"fetch": fetch, "add": add}, ["fetch", "add"]),
        ([{"fetch": fetch}, [add]], ["fetch", "add"]),
        (add, ["add"]),
        ({}, []),
    ],
)
def test_tools_are_exported_from_whatever_holds_them(source, names):
    assert list(export_tools(source, "openai_chat").names) == names
    assert [line for line in describe(source).splitlines() if line.startswith("## ")] == [
        f"## {name}" for name in names
    ]


def test_the_secrets_in_the_examples_of_the_metadata_are_masked():
    secret = {"type": "string", "format": "password", "writeOnly": True}
    login = Tool(
        name="login",
        description="Log in.",
        input_schema={"type": "object", "properties": {"user": {"type": "string"}, "password": secret}},
        metadata={"examples": [{"input": {"user": "bob", "password": "open-sesame"}}], "team": "web"},
    )
    for format in FORMATS:
        export = export_tools([login], format)
        assert "open-sesame" not in f"{export.payload}{export.policy_fields}"
    (document,) = export_tools([login], "native").payload["tools"]
    assert document["metadata"]["team"] == "web"
    assert document["metadata"]["examples"][0]["input"]["user"] == "bob"
    assert "open-sesame" in str(login.metadata)
