"""`/v3/me`, `/v3/check`, `/v3/tools/{id}/schema`, and what all routes do with queries and problems."""

import json

import pytest

from tests.cases import in_case
from tests.serve.kit import SHOUT, make_key, plain_tool, platform
from toolhaft.define.yaml import lint_text, parse_tool
from toolhaft.formats import export_tools
from toolhaft.formats.registry import FORMATS


@pytest.fixture
def near():
    with platform() as asked:
        yield asked


def check(near, body, content_type="application/yaml", **more):
    return near.ask("POST", "/v3/check", body, content_type=content_type, **more)


def test_me_describes_the_key_without_its_secret(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    info, ann = make_key(
        url, "ann", org="acme", scopes=["tools:run", "pay"], expires_at="2099-01-02T03:04:05Z"
    )
    with platform(url) as near:
        answer = near.ask("GET", "/v3/me", key=ann)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        assert answer.json == {
            "user": "ann",
            "org": "acme",
            "scopes": ["pay", "tools:run"],
            "is_operator": False,
            "key": f"th_{info.id}",
            "expires_at": "2099-01-02T03:04:05Z",
        }
        assert ann not in answer.body.decode()
        assert near.ask("GET", "/v3/me", key=None).status == 401
        assert near.ask("POST", "/v3/me", key=ann).status == 405
    with platform() as near:
        once = near.ask("GET", "/v3/me").json
        assert (once["user"], once["scopes"], once["is_operator"], once["key"]) == (
            None,
            ["operator"],
            True,
            "th_once",
        )


def test_check_reports_what_the_linter_reports(near):
    documents = [
        SHOUT,
        SHOUT.replace("type: string", "type: text").replace("share: public", "share: all"),
        SHOUT + "unknown: 1\n",
        'id: a\nname: A\ndescription: "Ignore\u200b"\n',
        "id: [",
        "",
        "- a list",
        '{"id": "a", "name": "A", "description": "B"}',
        plain_tool("plain", run="run: {http: {url: 'http://example.com/'}}\n"),
    ]
    for text in documents:
        with in_case(text):
            answer = check(near, text)
            assert answer.status == 200
            problems = answer.json["problems"]
            told = [(one["line"], one["problem"], one["fix"], one["level"]) for one in problems]
            expected = lint_text(text)
            assert told == [(one.line, one.problem, one.fix, one.level) for one in expected]
            assert {one["in"] for one in problems} <= {"document"}
            assert answer.json["valid"] == all(one.level == "warning" for one in expected)
            assert answer.json["id"] == (parse_tool(text).name if answer.json["valid"] else None)
    assert near.ask("GET", "/v3/tools", query=b"owner=operator").json["total"] == 0


def test_check_has_the_limits_of_publishing(near):
    parameters = "".join(f"  - {{name: p{n}, type: string, description: A}}\n" for n in range(201))
    many = f"id: many\nname: Many\ndescription: Many.\nparameters:\n{parameters}"
    assert check(near, many).json["problems"][0]["problem"] == "it has 201 parameters"
    assert check(near, many).json["valid"] is False
    assert check(near, "x" * 100_001).status == 413
    assert check(near, b"\xff").status == 400
    assert check(near, SHOUT, "text/plain").status == 415
    assert check(near, SHOUT, key=None).status == 401
    assert near.ask("GET", "/v3/check").status == 405


def test_check_refuses_what_publishing_refuses_as_json(near):
    good = json.dumps({"id": "a", "name": "A \U0001f600", "description": "B/C"})
    for text in (good, good.replace("/", "\\/"), good.replace(", ", ",\n\t")):
        assert check(near, text, "application/json").json == {"valid": True, "id": "a", "problems": []}
    for text in (SHOUT, "[]", f"{good} x", good.replace('"name"', '"id"'), "{'id': 'a'}"):
        with in_case(text):
            answer = check(near, text, "application/json")
            put = near.ask("PUT", "/v3/tools/a", text, content_type="application/json")
            assert answer.status == 400
            assert answer.json == put.json


def test_check_needs_the_scope_to_read(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, runner = make_key(url, "ann", scopes=["tools:run"])
    with platform(url) as near:
        assert check(near, SHOUT, key=runner).status == 403
        assert near.ask("GET", "/v3/tools/calculator/schema", query=b"format=mcp", key=runner).status == 403


def test_schema_is_the_export_with_its_losses(near):
    near.put("shout", SHOUT)
    tool = parse_tool(near.ask("GET", "/v3/tools/shout", accept="application/yaml").body.decode())
    for name in FORMATS:
        with in_case(name):
            answer = near.ask("GET", "/v3/tools/shout/schema", query=f"format={name}".encode())
            export = export_tools([tool], name)
            assert answer.status == 200
            assert answer.json == {
                "format": name,
                "payload": json.loads(json.dumps(export.payload)),
                "losses": [loss._asdict() for loss in export.losses],
                "refused": [],
                "names": {"shout": "shout"},
            }
    built_in = near.ask("GET", "/v3/tools/calculator/schema", query=b"format=openai_chat").json
    assert built_in["payload"]["tools"][0]["function"]["name"] == "calculator"


def test_schema_refuses_other_formats_and_tools(near, tmp_path):
    cases = [
        (b"", 400, "the parameter format is missing"),
        (b"format=", 400, "'' is not a value of format"),
        (b"format=openai_caht", 400, "'openai_caht' is not a value of format"),
        (b"fromat=mcp", 400, "there is no parameter 'fromat'"),
    ]
    for query, status, told in cases:
        with in_case(query):
            answer = near.ask("GET", "/v3/tools/calculator/schema", query=query)
            assert (answer.status, answer.json["detail"]) == (status, told)
            assert answer.is_problem
    wrong = near.ask("GET", "/v3/tools/calculator/schema", query=b"format=openai_caht").json
    assert "did you mean openai_chat?" in wrong["fix"]
    assert all(name in wrong["problems"][0]["expected"] for name in FORMATS)
    assert near.ask("GET", "/v3/tools/none/schema", query=b"format=mcp").status == 404
    url = f"sqlite://{tmp_path}/platform.db"
    _, bob = make_key(url, "bob")
    with platform(url) as other:
        other.put("mine", plain_tool("mine"))
        assert other.ask("GET", "/v3/tools/mine/schema", query=b"format=mcp", key=bob).status == 404


def test_every_route_refuses_unknown_query_parameters(near):
    near.put("shout", SHOUT)
    routes = [
        ("GET", "/v3/tools"),
        ("GET", "/v3/tools/shout"),
        ("PUT", "/v3/tools/shout"),
        ("DELETE", "/v3/tools/shout"),
        ("GET", "/v3/tools/shout/schema"),
        ("GET", "/v3/tools/shout/versions"),
        ("POST", "/v3/tools/shout/rollback"),
        ("POST", "/v3/tool/shout"),
        ("POST", "/v3/check"),
        ("GET", "/v3/me"),
        ("GET", "/openapi.json"),
    ]
    for method, path in routes:
        with in_case(method, path):
            answer = near.ask(
                method, path, b"{}", query=b"colour=red&colour=x&%ff=1", content_type="application/json"
            )
            assert answer.status == 400
            assert answer.is_problem
            problems = answer.json["problems"]
            assert [one["path"] for one in problems][:2] == ["colour", "colour"]
            assert {one["in"] for one in problems} == {"query"}
    crowded = near.ask("GET", "/v3/me", query=b"&".join(b"a%d=1" % number for number in range(10_000)))
    assert (crowded.status, crowded.json["detail"]) == (400, "there are more than 20 query parameters")
    assert near.ask("GET", "/v3/me", query=b"x" * 60_000).status == 400
    assert near.ask("GET", "/v3/tools/shout").status == 200
    assert near.ask("GET", "/healthz", query=b"probe=1").status == 200


def test_every_error_lists_its_problems_in_one_form(near):
    near.put("shout", SHOUT)
    json_type = {"content_type": "application/json"}
    cases = [
        (("GET", "/v3/tools"), {"query": b"limit=0"}, ("query", "limit", None)),
        (("GET", "/v3/tools"), {"query": b"limt=1"}, ("query", "limt", None)),
        (
            ("PUT", "/v3/tools/shout", "id: shout\n"),
            {"content_type": "application/yaml"},
            ("document", "", 1),
        ),
        (("PUT", "/v3/tools/x", SHOUT), {"content_type": "application/yaml"}, ("document", "id", None)),
        (("PUT", "/v3/tools/shout", "{"), json_type, ("body", "", None)),
        (("PUT", "/v3/tools/shout", '{"a": {"b": 1, "b": 2}}'), json_type, ("body", "a.b", None)),
        (("PUT", "/v3/tools/shout", SHOUT), {"content_type": "text/plain"}, ("header", "content-type", None)),
        (("POST", "/v3/tool/shout", '{"txt": "a"}'), json_type, ("arguments", "txt", None)),
        (("POST", "/v3/tool/shout", "[1]"), json_type, ("body", "", None)),
        (("POST", "/v3/tool/shout", '{"text": "a"}'), json_type, ("tool", "", None)),
        (
            ("POST", "/v3/tool/shout", "{}"),
            {**json_type, "idempotency_key": "a b"},
            ("header", "idempotency-key", None),
        ),
        (("GET", "/v3/tools/none"), {}, ("request", "", None)),
        (("GET", "/v3/none"), {}, ("request", "", None)),
        (("GET", "/v3/tools"), {"key": None}, ("request", "", None)),
        (("DELETE", "/v3/tools/shout"), {"if_match": "x"}, ("header", "if-match", None)),
    ]
    for asked, more, place in cases:
        with in_case(asked, more):
            answer = near.ask(*asked, **more)
            assert answer.is_problem
            problems = answer.json["problems"]
            first = problems[0]
            assert (first["in"], first["path"], first["line"]) == place
            assert first["problem"]
            names = {"in", "path", "line", "problem", "expected", "fix", "level"}
            assert all(one.keys() == names and one["level"] == "error" for one in problems)
