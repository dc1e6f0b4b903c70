"""The share levels `private`, `org` and `public` for every read, write and run."""

import pytest

from tests.postgres import new_url
from tests.serve.kit import DATABASES, make_key, plain_tool, platform

pytestmark = pytest.mark.external

RUN = 'run: {python: "tests.serve.served_tools:shout"}\n'
# who may see and run it, by share level; only its owner and an operator may change it
SEEN = {
    "private": {"owner": True, "mate": False, "stranger": False, "operator": True},
    "org": {"owner": True, "mate": True, "stranger": False, "operator": True},
    "public": {"owner": True, "mate": True, "stranger": True, "operator": True},
}
CHANGED = {"owner": True, "mate": False, "stranger": False, "operator": True}


@pytest.fixture(params=DATABASES)
def near(request, tmp_path):
    url = new_url(request.param, tmp_path)
    keys = {
        "owner": make_key(url, "ann", org="acme")[1],
        "mate": make_key(url, "bob", org="acme")[1],
        "stranger": make_key(url, "eve", org="other")[1],
        "operator": make_key(url, "root", scopes=["operator"])[1],
    }
    with platform(url, allow_run=["python"], built_in="none") as asked:
        asked.keys = keys
        yield asked


def _publish(near, share):
    text = plain_tool(f"of_{share}", share=share, run=RUN)
    assert near.put(f"of_{share}", text, key=near.keys["owner"]).status == 201
    return f"of_{share}"


def test_access_by_owner_organisation_and_sharing_level(near):
    ids = {share: _publish(near, share) for share in SEEN}
    for who, key in near.keys.items():
        listed = {tool["id"] for tool in near.ask("GET", "/v3/tools", key=key).json["tools"]}
        found = {tool["id"] for tool in near.ask("GET", "/v3/tools", query=b"q=does", key=key).json["tools"]}
        described = near.ask("GET", "/openapi.json", key=key).json["paths"]
        for share, id in ids.items():
            is_seen = SEEN[share][who]
            place = (who, share)
            assert (place, id in listed) == (place, is_seen)
            assert (place, id in found) == (place, is_seen)
            assert (place, f"/v3/tool/{id}" in described) == (place, is_seen)
            got = near.ask("GET", f"/v3/tools/{id}", key=key)
            assert (place, got.status) == (place, 200 if is_seen else 404)
            run = near.run(id, {"text": "a"}, key=key)
            assert (place, run.status) == (place, 200 if is_seen else 404)
            put = near.put(id, plain_tool(id, share=share, run=RUN), key=key, if_match="*")
            assert (place, put.status) == (place, 200 if CHANGED[who] else 403)
    for who in ("stranger", "mate", "operator"):
        for share, id in ids.items():
            removed = near.ask("DELETE", f"/v3/tools/{id}", key=near.keys[who])
            expected = 204 if CHANGED[who] else 403 if SEEN[share][who] else 404
            assert ((who, share), removed.status) == ((who, share), expected)


def test_invisible_tool_looks_like_a_missing_one(near):
    id = _publish(near, "private")
    hidden = near.run(id, {}, key=near.keys["stranger"])
    absent = near.run("of_privats", {}, key=near.keys["stranger"])
    assert hidden.status == absent.status == 404
    assert hidden.json["detail"].replace(id, "x") == absent.json["detail"].replace("of_privats", "x")


def test_reduced_sharing_applies_immediately(near):
    id = _publish(near, "public")
    assert near.run(id, {"text": "a"}, key=near.keys["stranger"]).status == 200
    near.put(id, plain_tool(id, share="org", run=RUN), key=near.keys["owner"], if_match="*")
    assert near.run(id, {"text": "a"}, key=near.keys["stranger"]).status == 404
    assert near.run(id, {"text": "a"}, key=near.keys["mate"]).status == 200


def test_tool_forwards_only_to_tools_its_owner_may_see(near):
    _publish(near, "private")
    _publish(near, "org")
    for who, behind, status in (
        ("mate", "of_org", 200),
        ("mate", "of_private", 424),
        ("stranger", "of_org", 424),
    ):
        endpoint = f"endpoint: http://127.0.0.1:8420/v3/tool/{behind}\n"
        id = f"by_{who}_{behind}"
        assert near.put(id, plain_tool(id, more=endpoint), key=near.keys[who]).status == 201
        assert ((who, behind), near.run(id, {"text": "a"}, key=near.keys[who]).status) == (
            (who, behind),
            status,
        )
