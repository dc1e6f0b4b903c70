"""The built-in tools are on every platform, visible as its operator decides."""

import pytest

from tests.catalog.kit import BUILT_IN
from tests.postgres import new_url
from tests.serve.kit import ALL, DATABASES, make_key, plain_tool, platform, serving_here
from toolhaft import Tool, load_tool, tool
from toolhaft.catalog.installed import InstalledTools, ToolEntryPoint
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import StorageError

pytestmark = pytest.mark.external

GIVEN = {"expression": "6 * 7"}
LOUD = plain_tool("a_loud_one", share="public", more="tags: [math]\n")


@tool
def shelve(book: str) -> str:
    """Put a book away."""
    return f"{book} is away"


@pytest.fixture
def strangers(monkeypatch):
    """A distribution of somebody else's offers a tool as well."""
    offer = ToolEntryPoint(id="shelve", value=f"{__name__}:shelve", owner="library")
    monkeypatch.setattr(
        InstalledTools, "entry_points", property(lambda _: (*OWN, offer), lambda _self, _value: None)
    )


OWN = tuple(offer for offer in InstalledTools().entry_points if offer.owner == "toolhaft")


def ids(answer):
    return [one["id"] for one in answer.json["tools"]]


@pytest.mark.parametrize("kind", DATABASES)
def test_every_key_can_list_read_and_run_built_in_tools(kind, tmp_path):
    url = new_url(kind, tmp_path)
    _, key = make_key(url, "ann")
    with platform(url) as near:
        assert ids(near.ask("GET", "/v3/tools", key=key)) == BUILT_IN
        got = near.ask("GET", "/v3/tools/calculator", key=key)
        assert (got.json["share"], got.json["is_active"]) == ("public", True)
        assert got.json["endpoint"] == "http://127.0.0.1:8420/v3/tool/calculator"
        assert not {"owner", "updated_at", "created_at"} & set(got.json)
        assert near.run("calculator", GIVEN, key=key).json == {"result": 42}
        assert "/v3/tool/calculator" in near.ask("GET", "/openapi.json", key=key).json["paths"]


def test_built_in_tool_has_a_document_and_an_etag(tmp_path):
    with platform() as near:
        got = near.ask("GET", "/v3/tools/read_file", accept="application/yaml")
        etag = got.headers["etag"]
        assert near.ask("GET", "/v3/tools/read_file", if_none_match=etag).status == 304
        assert near.ask("GET", "/v3/tools/write_file").headers["etag"] != etag
    file = tmp_path / "read_file.yaml"
    file.write_bytes(got.body)
    made = load_tool(file)
    assert (made.name, made.share, made.handler is not None) == ("read_file", "public", True)


def test_lists_and_searches_mix_built_in_and_published_tools(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url) as near:
        near.put("a_loud_one", LOUD, key=key)
        near.put("zebra", plain_tool("zebra"), key=key)

        def asked(query):
            answer = near.ask("GET", "/v3/tools", key=key, query=query)
            return ids(answer), answer.json["next"]

        everything = ["a_loud_one", *BUILT_IN, "zebra"]
        assert asked(b"") == (everything, None)
        pages, after = [], ""
        while after is not None:
            page, after = asked(f"limit=5&after={after}".encode())
            pages.append(page)
        assert pages == [everything[:5], everything[5:10], everything[10:]]
        assert asked(b"limit=12")[1] is None
        assert asked(b"owner=ann")[0] == ["a_loud_one", "zebra"]
        assert asked(b"owner=")[0] == BUILT_IN
        assert asked(b"share=private")[0] == ["zebra"]
        assert asked(b"tag=math")[0] == ["a_loud_one", "calculator"]
        assert asked(b"q=math+expression&limit=1")[0] == ["calculator"]
        assert asked(b"q=math+expression&owner=ann")[0] in ([], ["a_loud_one"])


def test_private_published_tool_hides_the_built_in_tool_from_everybody(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url) as near:
        text = plain_tool("calculator").replace("text", "expression")
        assert near.put("calculator", text, key=key).status == 403
        assert near.put("calculator", text, if_none_match="*").status == 201
        assert ids(near.ask("GET", "/v3/tools", key=key)) == BUILT_IN[1:]
        assert ids(near.ask("GET", "/v3/tools", query=b"q=calculator", key=key)) == []
        assert near.ask("GET", "/v3/tools/calculator", key=key).status == 404
        hidden = near.run("calculator", GIVEN, key=key)
        assert (hidden.status, "did you mean" in hidden.json["detail"]) == (404, False)
        assert near.ask("GET", "/v3/tools/calculator").json["name"] == "A tool"
        assert near.run("calculator", GIVEN).json == {"result": 42}
        # once that is taken away, the built-in one is there again
        assert near.ask("DELETE", "/v3/tools/calculator").status == 204
        assert near.ask("GET", "/v3/tools/calculator", key=key).json["name"] == "Calculator"
        assert near.run("calculator", GIVEN, key=key).json == {"result": 42}


def test_built_in_tool_cannot_be_removed(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url) as near:
        for who in (key, near.app.key):
            refused = near.ask("DELETE", "/v3/tools/calculator", key=who)
            assert (refused.status, refused.is_problem) == (403, True)
            assert "--built-in none" in refused.json["fix"]
        assert near.ask("DELETE", "/v3/tools/calculatr", key=key).status == 404


def test_published_tool_may_forward_to_a_built_in_tool(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url) as near:
        text = plain_tool("mine", more="endpoint: http://127.0.0.1:8420/v3/tool/calculator\n")
        near.put("mine", text.replace("text", "expression"), key=key)
        assert near.run("mine", GIVEN, key=key).json == {"result": 42}


@pytest.mark.parametrize(
    ("built_in", "operators", "others"),
    [("operator", BUILT_IN, []), ("none", [], []), ("public", BUILT_IN, BUILT_IN)],
)
def test_built_in_setting_decides_who_sees_built_in_tools(built_in, operators, others, tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url, built_in=built_in) as near:
        for who, seen in ((near.app.key, operators), (key, others)):
            assert ids(near.ask("GET", "/v3/tools", key=who)) == seen
            status = 200 if seen else 404
            assert near.run("calculator", GIVEN, key=who).status == status
            assert near.ask("GET", "/v3/tools/calculator", key=who).status == status
            described = near.ask("GET", "/openapi.json", key=who).json["paths"]
            assert ("/v3/tool/calculator" in described) == bool(seen)


@pytest.mark.usefixtures("strangers")
def test_tools_of_other_distributions_are_visible_to_operators_only(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url, built_in="none") as near:
        assert ids(near.ask("GET", "/v3/tools")) == ["shelve"]
        assert near.ask("GET", "/v3/tools/shelve").json["id"] == "shelve"
        assert near.run("shelve", {"book": "Emma"}).json == "Emma is away"
        assert ids(near.ask("GET", "/v3/tools", key=key)) == []
        assert near.run("shelve", {"book": "Emma"}, key=key).status == 404
        assert near.ask("GET", "/v3/tools/shelve", key=key).status == 404
        assert near.ask("DELETE", "/v3/tools/shelve", key=key).status == 404
        assert near.put("shelve", plain_tool("shelve"), key=key).status == 403


def test_key_with_only_the_run_scope_runs_built_in_tools(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann", scopes=["tools:run"])
    with serving_here(database_url=url) as served:
        assert served.run("calculator", GIVEN, key=key).json == {"result": 42}
        assert served.ask("GET", "/v3/tools", key=key).status == 403
        assert served.run("calculator", {"expression": "1 / 0"}, key=key).status == 424


def test_search_tools_finds_only_what_its_caller_may_see_and_run(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann")
    _, bob = make_key(url, "bob")
    _, clerk = make_key(url, "ann", scopes=[*ALL, "bills"])
    run = 'run: {python: "tests.serve.served_tools:shout"}\n'
    with serving_here(database_url=url, allow_run=["python"]) as served:

        def found(key, query="unicorn"):
            answer = served.run("search_tools", {"query": query, "limit": 20}, key=key)
            assert answer.status == 200
            return sorted(one["name"] for one in answer.json["tools"])

        for id, key, more in (
            ("unicorn_a", ann, ""),
            ("unicorn_b", bob, ""),
            ("unicorn_all", bob, "share"),
            ("unicorn_bill", ann, "requires: [bills]\n"),
        ):
            share = "public" if more == "share" else "private"
            text = plain_tool(id, share=share, run=run, more=more if share == "private" else "")
            assert served.put(id, text, key=key).status == 201
        assert (
            served.put(
                "unicorn_shell", plain_tool("unicorn_shell", run="run: {argv: [id]}\n"), key=ann
            ).status
            == 201
        )
        assert served.put("unicorn_off", plain_tool("unicorn_off"), key=ann).status == 201
        assert found(ann) == ["unicorn_a", "unicorn_all"]
        assert found(bob) == ["unicorn_all", "unicorn_b"]
        assert found(clerk) == ["unicorn_a", "unicorn_all", "unicorn_bill"]
        assert found(...) == ["unicorn_a", "unicorn_all", "unicorn_b", "unicorn_bill"]
        assert "calculator" in found(ann, "math expression")
        # what is published or taken away meanwhile is known at once
        assert served.ask("DELETE", "/v3/tools/unicorn_all", key=bob).status == 204
        assert found(ann) == ["unicorn_a"]
        # also through a tool that stands in for it
        text = plain_tool("finder", share="public", more=f"endpoint: {served.url}/v3/tool/search_tools\n")
        assert served.put("finder", text.replace("name: text", "name: query"), key=bob).status == 201
        answer = served.run("finder", {"query": "unicorn"}, key=ann)
        assert [one["name"] for one in answer.json["tools"]] == ["unicorn_a"]


def test_search_tools_needs_the_read_scope(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann", scopes=["tools:run"])
    with platform(url) as near:
        refused = near.run("search_tools", {"query": "math"}, key=key)
    assert (refused.status, refused.json["kind"]) == (403, "not_allowed")
    assert "tools:read" in refused.json["detail"]


def test_search_tools_does_not_reveal_a_storage_error(tmp_path, monkeypatch):
    with platform(f"sqlite://{tmp_path}/platform.db") as near:
        assert near.run("search_tools", {"query": "math"}).status == 200

        def gone(*_args, **_more):
            raise StorageError(f"{tmp_path}/platform.db is gone")

        monkeypatch.setattr(PublishedStore, "find", gone)
        answer = near.run("search_tools", {"query": "math"})
    assert (answer.status, str(tmp_path) in answer.body.decode()) == (424, False)
    assert "try again later" in answer.json["detail"]


def test_search_tools_skips_a_row_of_another_version(tmp_path):
    with platform(f"sqlite://{tmp_path}/platform.db", allow_run=["python"]) as near:
        run = 'run: {python: "tests.serve.served_tools:shout"}\n'
        for id in ("unicorn_a", "unicorn_b"):
            near.put(id, plain_tool(id, run=run))
        assert near.run("search_tools", {"query": "unicorn", "limit": 1}).status == 200
        with near.app._database.transaction() as transaction:  # noqa: SLF001 -- a row that no version of ours writes
            transaction.execute("UPDATE toolhaft_tools SET text = ? WHERE id = ?", ["id: [", "unicorn_a"])
            transaction.advance()
        found = near.run("search_tools", {"query": "unicorn"}).json["tools"]
    assert [one["name"] for one in found] == ["unicorn_b"]


def test_installed_tool_whose_name_yaml_cannot_express_is_left_out(monkeypatch, caplog):
    long = Tool(name="x" * 60, description="Too long.", input_schema={"type": "object", "properties": {}})
    offer = ToolEntryPoint(id=long.name, value="somewhere:long", owner="library")
    monkeypatch.setattr(
        InstalledTools, "entry_points", property(lambda _: (offer,), lambda _self, _value: None)
    )
    monkeypatch.setattr("toolhaft.serve.installed_tools.load_entry_point", lambda _: long)
    with platform() as near:
        assert ids(near.ask("GET", "/v3/tools")) == []
        assert near.run(long.name, {}).status == 404
    assert "is ignored" in caplog.text
