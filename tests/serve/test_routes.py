"""`/v3/tools`: list, search, read, publish and remove tools, and conflicts between changes."""

import asyncio
import json

import pytest

from tests.cases import in_case
from tests.postgres import new_url
from tests.serve.kit import DATABASES, SHOUT, make_key, plain_tool, platform
from toolhaft.define.yaml import parse_tool


@pytest.fixture
def near():
    with platform(built_in="none") as asked:
        yield asked


def test_published_yaml_keeps_its_comments(near):
    answer = near.put("shout", SHOUT)
    assert answer.status == 201
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.headers["location"] == "/v3/tools/shout"
    text = answer.body.decode()
    assert text.startswith("# kept\n")
    assert 'endpoint: "http://127.0.0.1:8420/v3/tool/shout"' in text
    assert "is_active: true" in text
    read = near.ask("GET", "/v3/tools/shout", accept="application/yaml")
    assert (read.status, read.body, read.headers["etag"]) == (200, answer.body, answer.headers["etag"])
    again = near.put("shout", text.replace("Say it", "Shout it"))
    assert again.status == 200
    assert again.headers["etag"] != answer.headers["etag"]


def test_a_tool_is_published_and_read_as_json(near):
    fields = {
        "id": "hail",
        "name": "Hail",
        "description": "Say \u00e9 \U0001f600 and 'quotes': # no comment",
        "parameters": [{"name": "n", "type": "number", "required": False, "description": "A number"}],
        "run": {"argv": ["echo", "${n}"]},
    }
    made = near.put("hail", json.dumps(fields), content_type="application/json")
    assert made.status == 201
    told = made.json
    assert {name: told[name] for name in fields} == fields
    assert told["endpoint"] == "http://127.0.0.1:8420/v3/tool/hail"
    assert near.ask("GET", "/v3/tools/hail").json == told
    yaml = near.ask("GET", "/v3/tools/hail", accept="application/yaml").body.decode()
    assert yaml.startswith("id: ")
    told["description"] = "Another."
    assert near.put("hail", json.dumps(told), content_type="application/json").status == 200


def test_the_api_says_whether_a_tool_is_active_and_a_call_does_the_same(near):
    run = 'run: {http: {method: GET, url: "https://example.com/"}}\n'
    head = "id: {}\nname: A\ndescription: Does it\n"
    cases = {
        "runs": (run, True),
        "said": ("is_active: true\n" + run, True),
        "off": ("is_active: false\n" + run, False),
        "far": ("endpoint: https://svc.example.com/\n", True),
        "bare": ("", False),
        "bold": ("is_active: true\n", False),
    }
    for id, (more, is_active) in cases.items():
        with in_case(id):
            put = near.put(id, head.format(id) + more)
            assert put.status == 201
            read = near.ask("GET", f"/v3/tools/{id}").json
            listed = {one["id"]: one for one in near.ask("GET", "/v3/tools").json["tools"]}
            assert (read["is_active"], listed[id]["is_active"]) == (is_active, is_active)
            made = parse_tool(put.body.decode())
            assert (made.is_active, ("endpoint" in read)) == (is_active, id not in ("bare", "bold"))
            if not is_active:
                answer = near.run(id, {})
                assert answer.status == 424
                assert f"{id} is not active: " in answer.json["detail"]
    text = near.ask("GET", "/v3/tools/off", accept="application/yaml").body.decode()
    assert "is_active: false\n" in text
    assert near.put("off", text.replace("is_active: false", "is_active: true")).status == 200
    assert near.ask("GET", "/v3/tools/off").json["is_active"] is True


def test_invalid_json_documents_are_refused(near):
    cases = [
        (b'{"id": "a", "id": "b"}', 400, "appears twice"),
        (b"[1]", 400, "not a JSON object"),
        (b"{", 400, "not valid JSON"),
        (b"[" * 100_000, 400, "not valid JSON"),
        (b'{"id": 1e999}', 422, "cannot be stored"),
        (b"\xff", 400, "not UTF-8"),
        (b'{"id": "shout"}', 422, "cannot be stored"),
    ]
    for body, status, told in cases:
        with in_case(body, status, told):
            answer = near.put("shout", body, content_type="application/json")
            assert answer.status == status
            assert answer.is_problem
            assert told in answer.json["detail"]


def test_every_problem_of_a_document_is_reported_with_its_line(near):
    answer = near.put(
        "shout", SHOUT.replace("type: string", "type: text").replace("share: public", "share: all")
    )
    assert answer.status == 422
    assert answer.is_problem
    problems = answer.json["problems"]
    assert len(problems) == 3
    assert [(one["in"], one["line"]) for one in problems] == [
        ("document", 5),
        ("document", 8),
        ("document", 11),
    ]
    assert all(one["problem"] and one["fix"] for one in problems)
    assert near.ask("GET", "/v3/tools").json["tools"] == []


def test_documents_with_invisible_characters_are_not_published(near):
    for hidden in ("\u200b", "\U000e0041", "\u202e"):
        with in_case(hidden):
            answer = near.put("shout", SHOUT.replace("type: string", f'type: string, title: "x{hidden}"', 1))
            assert answer.status == 422
            assert "an invisible character" in answer.json["problems"][0]["problem"]


def test_document_id_must_match_the_url(near):
    answer = near.put("other", SHOUT)
    assert answer.status == 422
    assert "PUT it to /v3/tools/shout" in answer.json["fix"]


def test_other_media_types_are_refused(near):
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "text/yaml", ""]:
        with in_case(content_type):
            answer = near.put("shout", SHOUT, content_type=content_type)
            assert answer.status == 415
            assert answer.is_problem


def test_put_without_header_is_based_on_updated_at_of_the_document(near):
    first = near.put("shout", SHOUT).body.decode()
    second = near.put("shout", first)
    assert second.status == 200
    stale = near.put("shout", first)
    assert stale.status == 409
    assert stale.is_problem
    assert f'"{stale.json["current"]}"' == second.headers["etag"]
    unnamed = near.put("shout", SHOUT)
    assert unnamed.status == 409


def test_if_match_names_the_version_to_change(near):
    first = near.put("shout", SHOUT, if_none_match="*")
    assert first.status == 201
    assert near.put("shout", SHOUT, if_none_match="*").status == 412
    assert near.put("shout", SHOUT, if_match='"2001-01-01T00:00:00.000000Z"').status == 412
    second = near.put("shout", SHOUT, if_match=first.headers["etag"])
    assert second.status == 200
    assert near.put("shout", SHOUT, if_match="*").status == 200
    assert near.ask("DELETE", "/v3/tools/shout", if_match=second.headers["etag"]).status == 412
    assert near.ask("DELETE", "/v3/tools/shout", if_match="*").status == 204
    assert near.put("shout", SHOUT, if_match="*").status == 412


def test_condition_that_does_not_name_one_version_is_400(near):
    cases = [
        {"if_match": "2001"},
        {"if_match": 'W/"2001"'},
        {"if_match": '"a", "b"'},
        {"if_none_match": '"2001"'},
        {"if_match": "*", "if_none_match": "*"},
    ]
    for headers in cases:
        with in_case(headers):
            answer = near.put("shout", SHOUT, **headers)
            assert answer.status == 400
            assert answer.is_problem


def test_if_none_match_with_the_current_version_returns_304(near):
    etag = near.put("shout", SHOUT).headers["etag"]
    for given in (etag, f'"x", W/{etag}', "*"):
        same = near.ask("GET", "/v3/tools/shout", if_none_match=given)
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", etag)
    assert near.ask("GET", "/v3/tools/shout", if_none_match='"x"').status == 200


def test_lists_are_filtered_and_paged(near):
    for number in range(5):
        near.put(f"tool_{number}", plain_tool(f"tool_{number}", more=f"tags: [t{number % 2}]\nowner: ann\n"))
    near.put("shout", SHOUT)

    def ids(query):
        answer = near.ask("GET", "/v3/tools", query=query)
        return [tool["id"] for tool in answer.json["tools"]], answer.json["next"]

    assert ids(b"") == (["shout", "tool_0", "tool_1", "tool_2", "tool_3", "tool_4"], None)
    assert ids(b"limit=2") == (["shout", "tool_0"], "tool_0")
    assert ids(b"limit=2&after=tool_0") == (["tool_1", "tool_2"], "tool_2")
    assert ids(b"limit=2&after=tool_2") == (["tool_3", "tool_4"], None)
    assert ids(b"tag=t1") == (["tool_1", "tool_3"], None)
    assert ids(b"owner=ann&limit=1") == (["tool_0"], "tool_0")
    assert ids(b"share=public") == (["shout"], None)
    assert ids(b"tag=%00") == ([], None)


def test_pages_have_the_total(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, bob = make_key(url, "bob")
    with platform(url) as near:  # with the built-in tools
        for number in range(5):
            share = "public" if number % 2 else "private"
            near.put(f"tool_{number}", plain_tool(f"tool_{number}", share=share, more="tags: [mine]\n"))

        def page(query, **more):
            told = near.ask("GET", "/v3/tools", query=query, **more).json
            return len(told["tools"]), told["total"], told["next"]

        every = page(b"limit=1000")
        assert every == (every[1], every[1], None)
        assert page(b"limit=1000", key=bob) == (every[1] - 3, every[1] - 3, None)
        assert page(b"tag=mine&limit=2") == (2, 5, "tool_1")
        assert page(b"tag=mine&limit=2&after=tool_3") == (1, 5, None)
        assert page(b"tag=mine&limit=2", key=bob) == (2, 2, None)
        assert page(b"tag=files&share=public&limit=1")[1] == page(b"tag=files")[1] > 1
        near.ask("DELETE", "/v3/tools/tool_0")
        assert page(b"tag=mine&limit=1") == (1, 4, "tool_1")


def test_search_is_read_page_by_page(near):
    for number in range(7):
        text = plain_tool(f"t{number}", more="tags: [even]\n" if number % 2 == 0 else "")
        near.put(f"t{number}", text.replace(f"Does what t{number} does.", "Convert a currency."))
    near.put("other", plain_tool("other"))
    for filters, total in ((b"", 7), (b"&tag=even", 4)):
        found, after = [], b"0"
        while after is not None:
            told = near.ask("GET", "/v3/tools", query=b"q=currency&limit=3&after=" + after + filters).json
            assert told["total"] == total
            found += [tool["id"] for tool in told["tools"]]
            after = told["next"] and told["next"].encode()
        whole = near.ask("GET", "/v3/tools", query=b"q=currency" + filters).json
        assert found == [tool["id"] for tool in whole["tools"]]
        assert (len(set(found)), whole["total"], whole["next"]) == (total, total, None)
    beyond = near.ask("GET", "/v3/tools", query=b"q=currency&after=100").json
    assert (beyond["tools"], beyond["total"], beyond["next"]) == ([], 7, None)
    for after in (b"t1", b"-1", b"1.0", b"9" * 30, b""):
        with in_case(after):
            wrong = near.ask("GET", "/v3/tools", query=b"q=currency&after=" + after)
            assert wrong.status == 400
            assert "next of the previous page" in wrong.json["fix"]


def test_share_tags_and_is_active_are_always_present():
    with platform() as near:
        near.put("bare", "id: bare\nname: Bare\ndescription: Nothing more.\n")
        for path, query in (("/v3/tools", b""), ("/v3/tools", b"q=bare"), ("/v3/tools/bare", b"")):
            told = near.ask("GET", path, query=query).json
            for tool in told.get("tools", [told]):
                with in_case(path, query, tool["id"]):
                    assert tool["share"] in ("private", "public")
                    assert isinstance(tool["tags"], list)
                    assert isinstance(tool["is_active"], bool)
        bare = near.ask("GET", "/v3/tools/bare").json
        assert (bare["share"], bare["tags"], bare["is_active"]) == ("private", [], False)
        again = near.put("bare", json.dumps(bare), content_type="application/json")
        assert (again.status, again.json["tags"]) == (200, [])


def test_search_returns_the_best_match_first(near):
    near.put("shout", SHOUT)
    near.put("convert", plain_tool("convert").replace("Does what convert does.", "Convert a currency."))
    found = near.ask("GET", "/v3/tools", query=b"q=currency+converting&limit=1").json
    assert [tool["id"] for tool in found["tools"]] == ["convert"]
    near.ask("DELETE", "/v3/tools/convert")
    assert near.ask("GET", "/v3/tools", query=b"q=currency").json["tools"] == []
    assert near.ask("GET", "/v3/tools", query=b"q=loudly&share=private").json["tools"] == []


def test_invalid_query_parameters_return_400(near):
    cases = [
        (b"limit=0", "limit"),
        (b"limit=1001", "limit"),
        (b"limit=x", "limit"),
        (b"limit=%D9%A3", "limit"),
        (b"limit=" + b"9" * 50, "limit"),
        (b"share=all", "share"),
        (b"limt=1", "limit"),
        (b"tag=a&tag=b", "twice"),
    ]
    for query, told in cases:
        with in_case(query, told):
            answer = near.ask("GET", "/v3/tools", query=query)
            assert answer.status == 400
            assert answer.is_problem
            assert told in answer.body.decode()


def test_removed_tool_is_gone(near):
    near.put("shout", SHOUT)
    assert near.ask("DELETE", "/v3/tools/shout").status == 204
    for method in ("GET", "DELETE"):
        answer = near.ask(method, "/v3/tools/shout")
        assert answer.status == 404
        assert answer.is_problem


def test_unknown_paths_return_404_and_wrong_methods_405(near):
    cases = [
        ("POST", "/v3/tools", 405, {"GET", "HEAD"}),
        ("PATCH", "/v3/tools/shout", 405, {"GET", "HEAD", "PUT", "DELETE"}),
        ("GET", "/v3/tool/shout", 405, {"POST"}),
        ("OPTIONS", "/v3/tool/shout", 405, {"POST"}),
        ("DELETE", "/openapi.json", 405, {"GET", "HEAD"}),
        ("POST", "/healthz", 405, {"GET", "HEAD"}),
        ("GET", "/", 404, None),
        ("GET", "/v3/tools/", 404, None),
        ("GET", "/v3/tools/a/b", 404, None),
        ("GET", "/docs", 404, None),
    ]
    for method, path, status, allow in cases:
        with in_case(method, path, status, allow):
            answer = near.ask(method, path)
            assert answer.status == status
            assert answer.is_problem
            if allow is not None:
                assert set(answer.headers["allow"].split(", ")) == allow


@pytest.mark.parametrize("kind", DATABASES)
def test_one_of_two_concurrent_updates_gets_a_conflict(kind, tmp_path):
    with platform(new_url(kind, tmp_path)) as near:
        base = near.put("shout", SHOUT).body.decode()

        async def together():
            return await asyncio.gather(
                *(
                    near.aask(
                        "PUT",
                        "/v3/tools/shout",
                        base.replace("Say it", f"Say {number}"),
                        content_type="application/yaml",
                    )
                    for number in range(6)
                )
            )

        answers = asyncio.run(together())
        assert sorted(answer.status for answer in answers) == [200] + [409] * 5
        winner = next(answer for answer in answers if answer.status == 200)
        assert near.ask("GET", "/v3/tools/shout", accept="application/yaml").body == winner.body


def test_one_of_two_concurrent_creations_succeeds(near):
    async def together():
        return await asyncio.gather(
            *(near.aask("PUT", "/v3/tools/shout", SHOUT, content_type="application/yaml") for _ in range(4))
        )

    assert sorted(answer.status for answer in asyncio.run(together())) == [201, 409, 409, 409]


def test_foreign_id_and_foreign_owner_are_refused(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann")
    _, bob = make_key(url, "bob")
    with platform(url) as near:
        assert near.put("shout", SHOUT, key=ann).status == 201
        taken = near.put("shout", SHOUT, key=bob)
        assert taken.status == 403
        assert taken.is_problem
        assert near.put("mine", plain_tool("mine", more="owner: ann\n"), key=bob).status == 403
