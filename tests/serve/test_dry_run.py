"""`?dry_run=true`: everything is checked as usual, and nothing is changed or run."""

import pytest

from tests.cases import in_case
from tests.serve import served_tools
from tests.serve.kit import SHOUT, make_key, plain_tool, platform

DRY = b"dry_run=true"
TELL = """\
id: tell
name: Tell
description: Tells.
parameters:
  - {name: word, type: string, required: true, description: A word}
  - {name: times, type: integer, required: false, default: 2, description: How often}
  - {name: token, type: string, required: false, writeOnly: true, description: A secret}
run: {python: "tests.serve.served_tools:shout"}
"""


@pytest.fixture
def near():
    with platform(allow_run=["python"]) as asked:
        yield asked


def run_dry(near, id, body, **more):
    return near.ask("POST", f"/v3/tool/{id}", body, query=DRY, **{"content_type": "application/json", **more})


def put_dry(near, id, text, **more):
    return near.put(id, text, query=DRY, **more)


def test_dry_put_says_what_would_change(near):
    planned = put_dry(near, "shout", SHOUT)
    assert (planned.status, planned.json["would"], planned.json["dry_run"]) == (200, "create", True)
    assert planned.json["message"] == "would create shout"
    assert planned.json["tool"]["endpoint"] == "http://127.0.0.1:8420/v3/tool/shout"
    assert near.ask("GET", "/v3/tools/shout").status == 404
    first = near.put("shout", SHOUT)
    changed = put_dry(near, "shout", SHOUT.replace("Say it", "Shout it"), if_match=first.headers["etag"])
    assert (changed.json["would"], changed.json["message"]) == ("replace", "would replace shout: description")
    assert near.ask("GET", "/v3/tools/shout").headers["etag"] == first.headers["etag"]
    assert near.put("shout", SHOUT, query=b"dry_run=false", if_match="*").status == 200


def test_dry_put_refuses_what_a_put_refuses(near):
    near.put("shout", SHOUT)
    cases = [
        ("shout", SHOUT, {}, 409),
        ("shout", SHOUT, {"if_match": '"2001"'}, 412),
        ("other", SHOUT, {}, 422),
        ("shout", "id: shout\n", {}, 422),
        ("shout", SHOUT, {"content_type": "text/plain"}, 415),
        ("shout", "x" * 200_000, {}, 413),
        ("shout", SHOUT, {"key": "th_wrong"}, 401),
    ]
    for id, text, more, status in cases:
        with in_case(id, more, status):
            answer = put_dry(near, id, text, **more)
            assert answer.status == status
            assert answer.is_problem


def test_dry_delete_and_rollback_change_nothing(near):
    first = near.put("shout", SHOUT)
    second = near.put("shout", SHOUT.replace("Say it", "Shout it"), if_match="*")
    gone = near.ask("DELETE", "/v3/tools/shout", query=DRY)
    assert (gone.status, gone.json["would"]) == (200, "remove")
    assert near.ask("DELETE", "/v3/tools/shout", query=DRY, if_match=first.headers["etag"]).status == 412
    assert near.ask("DELETE", "/v3/tools/calculator", query=DRY).status == 403
    assert near.ask("DELETE", "/v3/tools/nothing", query=DRY).status == 404
    restored = near.ask("POST", "/v3/tools/shout/rollback", query=DRY)
    assert (restored.status, restored.json["would"]) == (200, "restore")
    assert restored.json["message"] == "would change shout: restored version 1: description"
    assert restored.json["tool"]["description"] == "Say it loudly."
    assert near.ask("GET", "/v3/tools/shout").headers["etag"] == second.headers["etag"]
    assert len(near.ask("GET", "/v3/tools/shout/versions").json["versions"]) == 2


def test_dry_run_of_a_call_checks_and_does_not_run(near, monkeypatch):
    def fail(*_):
        raise AssertionError("the tool was run")

    monkeypatch.setattr(served_tools, "shout", fail)
    near.put("tell", TELL)
    answer = run_dry(near, "tell", b'{"word": "hey", "times": "3", "token": "sesame"}')
    assert answer.status == 200
    assert answer.json == {
        "dry_run": True,
        "would": "run",
        "message": "would run tell; its changes cannot be undone",
        "effect": "irreversible",
        "arguments": {"word": "hey", "times": 3, "token": "***"},
        "repairs": ['times: read "3" as 3'],
    }
    assert run_dry(near, "tell", b'{"word": "hey"}').json["arguments"] == {"word": "hey", "times": 2}
    problem = run_dry(near, "tell", b'{"word": 5}')
    assert problem.status == 422
    assert [(one["in"], one["path"]) for one in problem.json["problems"]] == [("arguments", "word")]


def test_dry_run_of_a_call_refuses_what_a_run_refuses(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann")
    _, reader = make_key(url, "ann", scopes=["tools:read"])
    with platform(url) as near:
        near.put("shout", SHOUT)
        near.put("nothing", plain_tool("nothing", share="public"))
        near.put("paid", plain_tool("paid", share="public", more="requires: [pay]\n"))
        near.put("hidden", plain_tool("hidden"))
        cases = [
            ("shout", {}, ann, 403, "--allow-run python"),  # the operator does not allow it
            ("nothing", {}, ann, 424, "it has neither run nor endpoint"),
            ("paid", {}, ann, 403, "requires the scope pay"),
            ("hidden", {}, ann, 404, "no tool 'hidden'"),
            ("calculator", {}, reader, 403, "tools:run"),
            ("calculator", {"content_type": "text/plain"}, ann, 415, "text/plain"),
        ]
        for id, more, key, status, told in cases:
            with in_case(id, status):
                body = b'{"text": "x"}'
                dry, wet = run_dry(near, id, body, key=key, **more), None
                if not more:
                    wet = near.run(id, {"text": "x"}, key=key)
                    assert (wet.status, wet.json["detail"]) == (dry.status, dry.json["detail"])
                assert dry.status == status
                assert dry.is_problem
                assert told in dry.json["detail"]
        for body, status in ((b"[1]", 400), (b"\xff", 400), (b"{", 400), (b"x" * 2_000_000, 413)):
            with in_case(body[:10], status):
                assert run_dry(near, "calculator", body, key=ann).status == status


def test_dry_run_takes_true_or_false(near):
    for query in (b"dry_run=yes", b"dry_run=", b"dry_run=True", b"dry_run=true&dry_run=true", b"dryrun=true"):
        for method, path in (
            ("PUT", "/v3/tools/shout"),
            ("DELETE", "/v3/tools/shout"),
            ("POST", "/v3/tools/shout/rollback"),
            ("POST", "/v3/tool/calculator"),
        ):
            with in_case(query, method, path):
                answer = near.ask(method, path, b"{}", query=query, content_type="application/json")
                assert answer.status == 400
                assert answer.is_problem
                assert "dry_run" in answer.json["fix"] + answer.json["detail"]
                assert answer.json["problems"][0]["in"] == "query"
