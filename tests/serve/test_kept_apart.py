"""What one key may not learn of another's, nor do with another's rights."""

import re

import pytest

from tests.serve.kit import ALL, make_key, plain_tool, platform
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


def test_a_search_finds_the_same_whatever_others_keep_private(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    near.put("open", _described("open", "Tells of acquisitions.", "public"), key=ann)
    before = _found(near, bob, "acqui")
    assert before == ["open"]
    near.put("hidden", _described("hidden", "The acqui plan.", "private"), key=ann)
    assert _found(near, bob, "acqui") == before
    assert _found(near, ann, "acqui") == ["hidden"]


def test_common_words_are_counted_among_what_is_seen(near):
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


def test_who_publishes_is_found_by_others_at_once(near):
    _, ann = make_key(near.url, "ann")
    _, bob = make_key(near.url, "bob")
    assert _found(near, bob, "zebra") == []
    near.put("one", _described("one", "A zebra.", "public"), key=ann)
    assert _found(near, bob, "zebra") == ["one"]
    assert _found(near, ann, "zebra") == ["one"]
    near.put("one", _described("one", "A zebra.", "private"), key=ann, if_match="*")
    assert _found(near, bob, "zebra") == []
    assert _found(near, ann, "zebra") == ["one"]


def test_keys_of_one_owner_with_other_scopes_share_nothing(near, monkeypatch):
    _, both = make_key(near.url, "ann", scopes=[*ALL, "a", "b"])
    near.put("whose", plain_tool("whose", run=python("whose"), more="requires: [a, b]\n"), key=both)
    assert near.run("whose", {}, key=both).status == 200
    monkeypatch.setattr("toolhaft.serve.keys._SCOPE", re.compile(".*"))  # as keys were made before
    _, odd = make_key(near.url, "ann", scopes=[*ALL, "a,b"])
    assert near.run("whose", {}, key=odd).status == 403


@pytest.mark.parametrize("scope", ["a,b", "a b", "a\tb", "a\0b", ""])
def test_a_scope_is_one_word(tmp_path, scope):
    with open_database(f"sqlite://{tmp_path}/p.db") as database, pytest.raises(ValueError, match="one word"):
        Keys(database).create(owner="ann", scopes=[scope])


def test_an_operator_may_use_what_stands_behind_another_tool(near):
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


def test_who_asks_for_files_where_there_are_none_is_told_how_to_open_them(tmp_path):
    with platform(f"sqlite://{tmp_path}/p.db") as near:
        answer = near.run("write_file", {"path": "a.txt", "content": "a"})
        assert answer.status == 424
        assert "toolhaft serve --files DIR" in answer.json["detail"]
        assert "ToolExecutor" not in answer.body.decode()


def test_what_must_not_be_there_is_not_removed(near):
    near.put("kept", plain_tool("kept"))
    for condition in ("*", '"2026"'):
        answer = near.ask("DELETE", "/v3/tools/kept", if_none_match=condition)
        assert answer.status == 412
        assert answer.is_problem
    assert near.ask("GET", "/v3/tools/kept").status == 200
    assert near.ask("DELETE", "/v3/tools/kept").status == 204
