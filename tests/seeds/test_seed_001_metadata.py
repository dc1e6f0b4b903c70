"""Seed 001, *Extended Metadata*: what a specification's metadata says is used, not only kept."""

import copy
import json

import pytest

from tests.seeds.test_seed_001 import EXTENDED_METADATA
from toolhaft import Catalog, ToolCall, ToolConfig, ToolExample, ToolExecutor, ToolRegistry, create_tool
from toolhaft.cli.main import run
from toolhaft.errors import DefinitionError
from toolhaft.formats import FORMATS, describe, export_tools


def from_spec():
    return ToolRegistry.from_spec_dict({"tools": [EXTENDED_METADATA]}).get_tool("search_database")


def changed(path, value):
    spec = copy.deepcopy(EXTENDED_METADATA)
    *parents, last = path
    inside = spec["metadata"]
    for step in parents:
        inside = inside[step]
    inside[last] = value
    return spec


def test_seed_001_metadata_becomes_the_tools_own():
    for made in (from_spec(), create_tool(ToolConfig(**EXTENDED_METADATA))):
        assert (made.version, made.tags, made.rate) == (
            "1.2.0",
            ("search", "query", "database"),
            "100/min",
        )
        assert made.examples == (
            ToolExample(description="Basic search", input={"query": "user data", "limit": 10}),
        )
        assert made.metadata == EXTENDED_METADATA["metadata"]


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("examples", 0, "input", "limit"), "ten", "metadata.examples, example 1"),
        (("examples", 0), "user data", "metadata.examples"),
        (("performance", "rate_limit"), "100/fortnight", "metadata.performance.rate_limit"),
        (("tags",), "search", "metadata.tags"),
        (("version",), 1.2, "metadata.version"),
    ],
)
def test_seed_001_wrong_metadata_is_found(path, value, place):
    """Specs are for documentation and tooling: a wrong example would teach a model a wrong call."""
    spec = changed(path, value)
    is_valid, error = ToolRegistry().validate_tool_spec(spec)
    assert (is_valid, error.startswith(place)) == (False, True)
    with pytest.raises(DefinitionError, match=place):
        ToolRegistry.from_spec_dict({"tools": [spec]})


def test_seed_001_metadata_is_found_by_the_catalog():
    other = create_tool(
        ToolConfig(name="other", description="Something else", input_schema={"type": "object"})
    )
    catalog = Catalog([from_spec(), other])
    assert [one.id for one in catalog.entries(tag="database")] == ["search_database"]
    tagged = changed(("tags",), ["warehouse"])
    catalog = Catalog([create_tool(ToolConfig(**tagged)), other])
    assert [one.id for one in catalog.search("warehouse")] == ["search_database"]


def test_seed_001_metadata_is_in_the_generated_documentation():
    page = describe(from_spec())
    for part in ("1.2.0", "search, query, database", "100/min", "Basic search", '"user data"'):
        assert part in page


def test_seed_001_metadata_is_shown_on_the_command_line(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "local-kit" / "tools"
    folder.mkdir(parents=True)
    fields = {
        "id": "search_database",
        "name": "Search",
        "description": EXTENDED_METADATA["description"],
        "metadata": EXTENDED_METADATA["metadata"],
        "parameters": [
            {"name": "query", "type": "string", "description": "What"},
            {"name": "limit", "type": "integer", "required": False, "description": "How many"},
        ],
    }
    (folder / "search_database.yaml").write_text(json.dumps(fields))
    monkeypatch.chdir(tmp_path)
    assert run(["tool", "show", "search_database"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "  rate limit: 100/min",
        "  version: 1.2.0",
        "  tags: search, query, database",
        '  Basic search: {"query": "user data", "limit": 10}',
    ):
        assert f"{line}\n" in shown
    assert run(["tool", "ls", "--tag", "database"]) == 0
    assert "search_database" in capsys.readouterr().out


def test_seed_001_the_rate_limit_is_applied():
    made = create_tool(ToolConfig(**changed(("performance", "rate_limit"), "2/day"), execute=lambda _: []))
    executor = ToolExecutor([made])
    kinds = [
        result.failure and result.failure.kind
        for result in (executor.execute(ToolCall(name=made.name, arguments={"query": "a"})) for _ in range(3))
    ]
    assert kinds == [None, None, "rate"]


def test_seed_001_metadata_goes_out_where_it_is_asked_for():
    made = from_spec()
    assert export_tools(made, "native").payload == {"tools": [EXTENDED_METADATA]}
    for format in FORMATS:
        with_examples = export_tools(made, format, examples=True).json_bytes.decode()
        assert "user data" in with_examples
    plain = export_tools(made, "openai_chat")
    assert {field.field for field in plain.policy_fields} == {"version", "tags", "rate", "metadata"}
