"""`/v3/tools/{id}/versions` and `/v3/tools/{id}/rollback`."""

import asyncio

import pytest

from tests.cases import in_case
from tests.postgres import new_url
from tests.serve.kit import DATABASES, SHOUT, make_key, plain_tool, platform


@pytest.fixture
def near():
    with platform() as asked:
        yield asked


def versions(near, **more):
    return near.ask("GET", "/v3/tools/shout/versions", **more).json["versions"]


def roll_back(near, query=b"", **headers):
    return near.ask("POST", "/v3/tools/shout/rollback", query=query, **headers)


def publish(near, text=SHOUT, **more):
    answer = near.put("shout", text, if_match=None, **more)
    return answer if answer.status == 201 else near.put("shout", text, if_match="*", **more)


@pytest.mark.parametrize("kind", DATABASES)
def test_versions_are_listed_and_restored(kind, tmp_path):
    with platform(new_url(kind, tmp_path)) as near:
        first = publish(near)
        publish(near, SHOUT.replace("Say it", "Shout it").replace("share: public", "share: private"))
        assert [(one["number"], one["is_current"], one["change"]) for one in versions(near)] == [
            (2, True, "description, share (public to private)"),
            (1, False, "created"),
        ]
        assert versions(near)[0].keys() == {
            "number",
            "updated_at",
            "published_by",
            "version",
            "change",
            "is_current",
        }
        restored = roll_back(near, accept="application/yaml")
        assert restored.status == 200
        assert restored.headers["etag"] != first.headers["etag"]
        assert b"Say it" in restored.body
        assert restored.body.startswith(b"# kept\n")
        assert near.ask("GET", "/v3/tools/shout", accept="application/yaml").body == restored.body
        assert roll_back(near, b"to=2").json["share"] == "private"
        assert [one["number"] for one in versions(near)] == [4, 3, 2, 1]


def test_rollback_that_is_not_possible_is_refused(near):
    publish(near)
    etag = publish(near).headers["etag"]
    cases = [
        ("shout", b"to=0", {}, 400, "not a value of to"),
        ("shout", b"to=1.5", {}, 400, "not a value of to"),
        ("shout", b"version=1", {}, 400, "no parameter 'version'"),
        ("shout", b"to=9", {}, 404, "the platform keeps: 1, 2"),
        ("shot", b"", {}, 404, "did you mean 'shout'"),
        ("calculator", b"", {}, 403, "installed, not published, so it has no versions"),
        ("shout", b"", {"if_match": '"2001"'}, 412, "published again"),
        ("shout", b"", {"if_none_match": "*"}, 412, "does not apply to POST"),
        ("shout", b"", {"if_match": "2001"}, 400, "not one ETag"),
    ]
    for id, query, headers, status, told in cases:
        with in_case(id, query, headers):
            answer = near.ask("POST", f"/v3/tools/{id}/rollback", query=query, **headers)
            assert answer.status == status
            assert answer.is_problem
            assert told in answer.json["detail"]
    assert near.ask("GET", "/v3/tools/calculator/versions").status == 403
    assert near.ask("GET", "/v3/tools/shot/versions").status == 404
    assert len(versions(near)) == 2
    assert roll_back(near, if_match=etag).status == 200


def test_versions_are_for_the_owner(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann")
    _, bob = make_key(url, "bob")
    _, reader = make_key(url, "ann", scopes=["tools:read"])
    with platform(url) as near:
        publish(near, SHOUT.replace("share: public", "share: private"), key=ann)
        publish(near, key=ann)
        assert [one["published_by"] for one in versions(near, key=reader)] == ["ann", "ann"]
        for ask, key in (("GET", bob), ("POST", bob), ("POST", reader)):
            path = "versions" if ask == "GET" else "rollback"
            with in_case(ask, key):
                answer = near.ask(ask, f"/v3/tools/shout/{path}", key=key)
                assert answer.status == 403
                assert answer.is_problem
        assert roll_back(near, key=ann).json["share"] == "private"
        assert near.ask("GET", "/v3/tools/shout/versions", key=bob).status == 404
        near.ask("DELETE", "/v3/tools/shout", key=ann)
        assert near.ask("GET", "/v3/tools/shout/versions", key=ann).status == 404
        assert near.put("shout", SHOUT, key=bob).status == 403


def test_only_operators_restore_a_tool_under_an_installed_id(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann")
    with platform(url) as near:
        assert near.put("calculator", plain_tool("calculator", more="owner: ann\n")).status == 201
        changed = plain_tool("calculator", more="owner: ann\ntags: [b]\n")
        assert near.put("calculator", changed, if_match="*").status == 200
        refused = near.ask("POST", "/v3/tools/calculator/rollback", key=ann)
        assert refused.status == 403
        assert "only an operator may publish it" in refused.json["detail"]
        assert near.ask("POST", "/v3/tools/calculator/rollback").status == 200


def test_restored_tool_is_run_and_found_as_before():
    with platform(built_in="none", allow_run=["python"]) as near:
        publish(near)
        publish(near, plain_tool("shout"))
        assert near.run("shout", {"text": "hey"}).status == 424
        roll_back(near)
        assert near.run("shout", {"text": "hey"}).json == {"said": "HEY"}
        assert near.ask("GET", "/v3/tools", query=b"q=loudly").json["total"] == 1


def test_concurrent_rollbacks_from_one_version_have_one_winner(near):
    publish(near)
    etag = publish(near).headers["etag"]

    async def together():
        return await asyncio.gather(
            *(near.aask("POST", "/v3/tools/shout/rollback", if_match=etag) for _ in range(4))
        )

    assert sorted(answer.status for answer in asyncio.run(together())) == [200, 412, 412, 412]
    assert len(versions(near)) == 3
