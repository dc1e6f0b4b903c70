"""`/openapi.json` is valid, and the platform behaves as it says."""

import os

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.python.asgi import HOST
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.cases import in_case
from tests.serve.kit import SHOUT, plain_tool, platform
from toolhaft.serve.limits import KeyRates

MANY = """\
id: many
name: Many
description: Takes one of each.
share: public
parameters:
  - {name: word, type: string, required: true, minLength: 1, maxLength: 20, description: A word}
  - {name: level, type: string, required: false, enum: [low, high], description: A level}
  - {name: size, type: number, required: false, minimum: 0, maximum: 100, description: A size}
  - {name: loud, type: boolean, required: false, description: Whether}
  - {name: words, type: array, required: false, items: {type: string}, maxItems: 5, description: Words}
  - {name: facts, type: object, required: false, description: Facts}
returns:
  - {name: count, type: number, description: How many were given}
run: {python: "tests.serve.served_tools:tell"}
"""
SUMS = """\
id: calculator
name: Sums
description: Evaluate an expression.
share: public
parameters:
  - {name: expression, type: string, required: true, maxLength: 1000, description: Such as 1 + 2}
"""
FAILING = plain_tool("failing", run='run: {python: "tests.serve.served_tools:fail"}\n')


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    url = f"sqlite://{tmp_path_factory.mktemp('described')}/platform.db"
    # without the built-in tools: those that search the web would be called
    with platform(url, allow_run=["python"], public_url=f"http://{HOST}", built_in="none") as asked:
        asked.host = HOST
        asked.app._callers._wrong_keys = KeyRates(None)  # noqa: SLF001 -- the checks send wrong keys for every route
        for id, text in (("shout", SHOUT), ("many", MANY), ("failing", FAILING), ("calculator", SUMS)):
            assert asked.put(id, text).status == 201
        yield asked


def _references(part):
    members = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    found = [part["$ref"]] if isinstance(part, dict) and isinstance(part.get("$ref"), str) else []
    return found + [reference for member in members for reference in _references(member)]


def test_each_tool_has_a_path_with_its_schemas(near):
    document = near.ask("GET", "/openapi.json").json
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": f"http://{HOST}"}]
    run = document["paths"]["/v3/tool/shout"]["post"]
    assert (run["summary"], run["tags"]) == ("Shout", ["text", "loud"])
    taken = document["components"]["schemas"]["shout.arguments"]
    assert taken["required"] == ["text"]
    assert document["components"]["schemas"]["shout.value"]["properties"]["said"]["type"] == "string"
    assert {
        "/healthz",
        "/openapi.json",
        "/v3/check",
        "/v3/me",
        "/v3/tools",
        "/v3/tools/{id}",
        "/v3/tools/{id}/rollback",
        "/v3/tools/{id}/schema",
        "/v3/tools/{id}/versions",
    } < set(document["paths"])


def test_every_parameter_is_described(near):
    document = near.ask("GET", "/openapi.json").json
    for path, item in document["paths"].items():
        for method, operation in item.items():
            listed = operation if method == "parameters" else operation.get("parameters", [])
            for one in listed:
                found = (
                    document["components"]["parameters"][one["$ref"].rpartition("/")[2]]
                    if "$ref" in one
                    else one
                )
                with in_case(path, method, one):
                    assert found["name"]
                    assert found["description"]
                    assert found["in"] in ("query", "header", "path")
                    assert found["schema"]["type"]
    conditional = document["paths"]["/v3/tools/{id}"]["get"]["parameters"]
    assert [one["name"] for one in conditional] == ["If-None-Match"]


def test_every_reference_resolves_and_every_schema_compiles(near):
    _check_schemas(near.ask("GET", "/openapi.json").json)


def test_references_of_built_in_tools_resolve():
    with platform() as near:
        document = near.ask("GET", "/openapi.json").json
    assert {"/v3/tool/calculator", "/v3/tool/web_search"} < set(document["paths"])
    assert document["components"]["schemas"]["calculator.value"]["properties"].keys() == {"result"}
    _check_schemas(document)


def _check_schemas(document):
    for reference in set(_references(document)):
        place = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step.replace("~1", "/").replace("~0", "~")]
    for name, schema in document["components"]["schemas"].items():
        whole = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        assert jsonschema_rs.validator_for(whole), schema


def test_document_follows_changes_and_reports_omitted_tools(near, monkeypatch):
    before = near.ask("GET", "/openapi.json").body
    assert near.ask("GET", "/openapi.json").body == before
    near.put("new", plain_tool("new"))
    monkeypatch.setattr("toolhaft.serve.openapi._MAX_TOOLS", 2)
    after = near.ask("GET", "/openapi.json").json
    assert "3 more tools are omitted" in after["info"]["description"]
    assert sum(path.startswith("/v3/tool/") for path in after["paths"]) == 2
    near.ask("DELETE", "/v3/tools/new")


@pytest.fixture(scope="module")
def schema(near):
    async def lasting(scope, receive, send):
        """The application without its end: each request is a client of its own here."""
        if scope["type"] == "lifespan":
            while (await receive())["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await near.app(scope, receive, send)

    return schemathesis.openapi.from_asgi("/openapi.json", lasting, headers=_key(near))


def _key(near):
    return {"Authorization": f"Bearer {near.app.key}"}


whole = schemathesis.pytest.from_fixture("schema")


@pytest.mark.external
@whole.parametrize()
@settings(
    max_examples=40 if os.environ.get("TOOLHAFT_LONG") else 5,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_generated_requests_get_documented_responses(near, case):
    # what a document of a tool may say is more than a schema can
    excluded = [positive_data_acceptance]
    if isinstance(case.body, dict) and None in case.body.values():
        excluded.append(negative_data_rejection)  # a null for an optional argument means that it is not given
    case.call_and_validate(headers=_key(near), excluded_checks=excluded)
