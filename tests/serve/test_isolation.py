"""Owners are isolated from each other: searches, cached results, scopes, files."""

import re

import pytest

from tests.cases import in_case
from tests.serve.kit import ALL, make_key, plain_tool, platform
from toolhaft.catalog.search import IndexedWords
from toolhaft.serve import Keys
from toolhaft.storage import open_database

pytestmark = pytest.mark.external


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


@pytest.fixture
def near(tmp_path):
    with platform(f"sqlite://{tmp_path}/p.db", allow_run=["python"], built_in="none") as app:
        app.url = f"sqlite://{tmp_path}/p.db"
        yield app


def _found(near, key, text):
    answer = near.ask("GET", "/v3/tools", key=key, query=f"q={text}".encode())
    return [tool["id"] for tool in answer.json["tools"]]


def _described(id, text, share):
    return plain_tool(id, share=share).replace(f"Does what {id} does.", text)


def test_private_tools_of_others_do_not_affect_a_search(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    near.put("open", _described("open", "Tells of acquisitions.", "public"), key=ann)
    before = _found(near, bob, "acqui")
    assert before == ["open"]
    near.put("hidden", _described("hidden", "The acqui plan.", "private"), key=ann)
    assert _found(near, bob, "acqui") == before
    assert _found(near, ann, "acqui") == ["hidden"]


def test_common_words_are_counted_among_visible_tools(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    near.put("one", _described("one", "Zebra of all.", "public"), key=ann)
    near.put("two", _described("two", "Zebra and merger.", "public"), key=ann)
    near.put("three", _described("three", "Merger of all.", "public"), key=ann)
    before = _found(near, bob, "zebra%20merger")
    assert sorted(before) == ["one", "three", "two"]
    for number in range(110):
        near.put(f"own_{number}", _described(f"own_{number}", "A merger.", "private"), key=ann)
    assert _found(near, bob, "zebra%20merger") == before


def test_published_tool_is_found_by_others_immediately(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    assert _found(near, bob, "zebra") == []
    near.put("one", _described("one", "A zebra.", "public"), key=ann)
    assert _found(near, bob, "zebra") == ["one"]
    assert _found(near, ann, "zebra") == ["one"]
    near.put("one", _described("one", "A zebra.", "private"), key=ann, if_match="*")
    assert _found(near, bob, "zebra") == []
    assert _found(near, ann, "zebra") == ["one"]


def test_only_changed_documents_are_indexed_again(near, monkeypatch):
    _, ann = make_key(near.url, "ann")
    for id in ("one", "two", "three"):
        near.put(id, _described(id, "A zebra.", "public"), key=ann)
    assert sorted(_found(near, ann, "zebra")) == ["one", "three", "two"]
    indexed = []
    add = IndexedWords.add
    monkeypatch.setattr(
        IndexedWords, "add", lambda self, id, *more: indexed.append(id) or add(self, id, *more)
    )
    near.put("two", _described("two", "A lion.", "public"), key=ann, if_match="*")
    near.ask("DELETE", "/v3/tools/three", key=ann)
    assert (_found(near, ann, "zebra"), _found(near, ann, "lion")) == (["one"], ["two"])
    assert [id for id in indexed if id in ("one", "two", "three")] == ["two"]
    make_key(near.url, "bob")  # a new revision without a changed tool
    indexed.clear()
    assert _found(near, ann, "zebra") == ["one"]
    assert not {"one", "two", "three"} & {*indexed}


def test_search_filters_by_tag_owner_and_share(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    near.put("one", _described("one", "A zebra.", "public") + "tags: [Big, wild]\n", key=ann)
    near.put("two", _described("two", "A zebra.", "private"), key=ann)
    near.put("three", _described("three", "A zebra.", "public"), key=bob)
    cases = [
        ("", ["one", "three", "two"]),
        ("&tag=Big", ["one"]),
        ("&tag=big", []),
        ("&owner=ann", ["one", "two"]),
        ("&owner=bob", ["three"]),
        ("&share=private", ["two"]),
        ("&share=org", []),
        ("&owner=ann&share=public", ["one"]),
        ("&limit=1&owner=bob", ["three"]),
    ]
    for more, expected in cases:
        with in_case(more):
            assert sorted(_found(near, ann, f"zebra{more}")) == expected
    assert sorted(_found(near, bob, "zebra")) == ["one", "three"]


def test_documents_without_stored_fields_and_of_a_restored_database_are_searched(near):
    _, ann = make_key(near.url, "ann")
    near.put("one", _described("one", "A zebra.", "public"), key=ann)
    near.put("two", _described("two", "A lion.", "public"), key=ann)
    with open_database(near.url) as database, database.transaction() as transaction:
        transaction.execute("UPDATE toolhaft_tools SET fields_text = NULL")
        transaction.advance()
    assert _found(near, ann, "zebra") == ["one"]
    assert (
        near.ask("GET", "/v3/tools", key=ann, query=b"q=zebra").json["tools"][0]["description"] == "A zebra."
    )
    with open_database(near.url) as database, database.transaction() as transaction:
        transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = 'two'")
        transaction.execute("DELETE FROM toolhaft_tools WHERE id = 'two'")
        transaction.execute("UPDATE toolhaft_tools SET text = REPLACE(text, 'zebra', 'gnu'), revision = 1")
        transaction.execute("UPDATE toolhaft_revision SET number = 1")
    assert (_found(near, ann, "zebra"), _found(near, ann, "lion"), _found(near, ann, "gnu")) == (
        [],
        [],
        ["one"],
    )


def test_hidden_installed_tool_is_found_again_when_the_published_one_is_removed(tmp_path):
    url = f"sqlite://{tmp_path}/p.db"
    with platform(url) as near:
        _, ann = make_key(url, "ann")
        assert _found(near, ann, "calculator")[:1] == ["calculator"]
        near.put("calculator", _described("calculator", "A zebra.", "private"))
        assert "calculator" not in _found(near, ann, "calculator")
        assert "calculator" in _found(near, near.app.key, "zebra")
        near.ask("DELETE", "/v3/tools/calculator")
        assert _found(near, ann, "calculator")[:1] == ["calculator"]


def test_keys_with_different_scopes_share_no_results(near, monkeypatch):
    _, both = make_key(near.url, "ann", scopes=[*ALL, "a", "b"])
    near.put("whose", plain_tool("whose", run=python("whose"), more="requires: [a, b]\n"), key=both)
    assert near.run("whose", {}, key=both).status == 200
    monkeypatch.setattr("toolhaft.serve.keys._SCOPE", re.compile(".*"))  # as keys were made before
    _, odd = make_key(near.url, "ann", scopes=[*ALL, "a,b"])
    assert near.run("whose", {}, key=odd).status == 403


def test_a_scope_is_one_word(tmp_path):
    with open_database(f"sqlite://{tmp_path}/p.db") as database:
        keys = Keys(database)
        for scope in ["a,b", "a b", "a\tb", "a\0b", ""]:
            with in_case(scope), pytest.raises(ValueError, match="one word"):
                keys.create(owner="ann", scopes=[scope])


def test_operator_may_call_through_a_forwarding_tool(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    _, admin = make_key(near.url, "adm", scopes=[*ALL, "admin"])
    behind = plain_tool("behind", share="public", run=python("shout"), more="requires: [admin]\n")
    near.put("behind", behind, key=ann)
    more = f"endpoint: {near.app.url}/v3/tool/behind\n"
    near.put("front", plain_tool("front", share="public", more=more), key=ann)
    for _ in range(2):
        assert near.run("front", {"text": "a"}).json == {"said": "A"}
        assert near.run("front", {"text": "a"}, key=admin).json == {"said": "A"}
        assert near.run("front", {"text": "a"}, key=bob).status == 403


def test_missing_files_folder_error_names_the_flag(tmp_path):
    with platform(f"sqlite://{tmp_path}/p.db") as near:
        answer = near.run("write_file", {"path": "a.txt", "content": "a"})
        assert answer.status == 424
        assert "toolhaft serve --files DIR" in answer.json["detail"]
        assert "ToolExecutor" not in answer.body.decode()


def test_delete_with_if_none_match_is_refused(near):
    near.put("kept", plain_tool("kept"))
    for condition in ("*", '"2026"'):
        answer = near.ask("DELETE", "/v3/tools/kept", if_none_match=condition)
        assert answer.status == 412
        assert answer.is_problem
    assert near.ask("GET", "/v3/tools/kept").status == 200
    assert near.ask("DELETE", "/v3/tools/kept").status == 204
