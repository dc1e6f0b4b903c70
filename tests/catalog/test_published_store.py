"""The published store on both databases: contents, owners, visibility."""

import json
from itertools import product

import pytest

from tests.cases import in_case
from tests.postgres import KINDS, new_url
from tests.storage.child import document
from toolhaft.catalog import published
from toolhaft.catalog.published import MIGRATIONS, PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.define.running.activation import is_active
from toolhaft.define.yaml import parse_tool, tool_fields
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.resources.clock import FakeClock
from toolhaft.storage import open_database

URL = "https://tools.example"
RUN = "run: {argv: [wc]}\n"
ANN = PlatformUser(owner="ann", org="acme")
BOB = PlatformUser(owner="bob", org="acme")
EVE = PlatformUser(owner="eve", org="other")
STRANGER = PlatformUser()
OPERATOR = PlatformUser(owner="op", org="ops", is_operator=True)


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.external] * (kind != "sqlite")) for kind in KINDS]
)
def database(request, tmp_path):
    with open_database(new_url(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def clock():
    return FakeClock(epoch_s=1_800_000_000.0)


@pytest.fixture
def store(database, clock):
    return PublishedStore(database, url=f"{URL}/", clock=clock)


def ids(tools):
    return [tool.id for tool in tools]


def test_published_tool_keeps_its_text_and_gets_dates_owner_and_endpoint(store):
    text = '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\ntags: [text]\nrun: {argv: [wc]}\n'
    published = store.put(text, ANN, base=None)
    assert published.text == (
        '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\nowner: "ann"\ntags: [text]\n'
        'created_at: "2027-01-15T08:00:00.000000Z"\nupdated_at: "2027-01-15T08:00:00.000000Z"\n'
        'is_active: true\nendpoint: "https://tools.example/v3/tool/words"\nrun: {argv: [wc]}\n'
    )
    assert store.get("words", ANN) == published
    assert published.tool.endpoint == "https://tools.example/v3/tool/words"
    assert published.tool is published.tool
    assert published.etag == '"2027-01-15T08:00:00.000000Z"'
    assert (published.owner, published.org, published.share, published.upstream) == (
        "ann",
        "acme",
        "private",
        None,
    )


def test_every_problem_is_reported_with_its_line_and_nothing_is_stored(store):
    with pytest.raises(DefinitionError) as caught:
        store.put("id: NO\nname: Words\nshare: everybody\n", ANN, base=None)
    told = str(caught.value)
    assert ":1:" in told
    assert ":3:" in told
    assert "description" in told
    assert store.list(OPERATOR) == []
    assert store.revision() == 0


def test_text_that_a_database_cannot_store_is_refused(store):
    for more in ['owner: "a\\0b"\n', 'tags: ["a\\0b"]\n']:
        with in_case(more), pytest.raises(DefinitionError, match="NUL"):
            store.put(document("words", more=more), OPERATOR, base=None)


def test_publishing_again_needs_the_base_version(store, clock):
    first = store.put(document("words"), ANN, base=None)
    clock.advance(1)
    second = store.put(document("words", "Better"), ANN, base=first.updated_at)
    assert second.updated_at > first.updated_at
    assert second.created_at == first.created_at
    with pytest.raises(
        ConflictError, match=r"published again at 2027-01-15T08:00:01.*get it.*then publish"
    ) as caught:
        store.put(document("words", "Worse"), ANN, base=first.updated_at)
    assert caught.value.current == second.updated_at
    assert store.get("words", ANN) == second


def test_base_none_does_not_overwrite(store):
    first = store.put(document("words"), ANN, base=None)
    with pytest.raises(ConflictError, match=r"exists.*get it") as caught:
        store.put(document("words"), ANN, base=None)
    assert caught.value.current == first.updated_at


def test_base_ellipsis_overwrites_any_version(store):
    store.put(document("words"), ANN, base=...)
    assert "Better" in store.put(document("words", "Better"), ANN, base=...).text


def test_missing_tool_is_created_with_any_base(store):
    published = store.put(document("words"), ANN, base="2024-01-02T00:00:00Z")
    assert published.created_at == published.updated_at == "2027-01-15T08:00:00.000000Z"


@pytest.mark.parametrize("user", [ANN, OPERATOR])
def test_fields_that_the_platform_sets_are_never_taken_from_the_document(store, clock, user):
    now, later = "2027-01-15T08:00:00.000000Z", "2027-01-15T08:00:01.000000Z"
    for time in ("2024-01-01", "1970-01-01T00:00:00Z", "2999-12-31T23:59:59Z"):
        more = f'created_at: "{time}"\nupdated_at: "{time}"\nendpoint: "https://first.example/x"\n'
        id = f"words{time[:4]}"
        published = store.put(document(id, more=more), user, base=...)
        assert (published.created_at, published.updated_at, published.owner) == (now, now, user.owner)
        clock.advance(1)
        published = store.put(document(id, more=more), user, base=...)
        assert (published.created_at, published.updated_at) == (now, later)
        tool = store.get(id, user).tool
        assert (tool.created_at, tool.updated_at, tool.owner) == (now, later, user.owner)
        assert (tool.is_active, tool.endpoint) == (True, f"{URL}/v3/tool/{id}")
        clock.advance(-1)


def test_store_of_operators_may_keep_the_creation_time_of_a_file(database):
    store = PublishedStore(database, url=URL, keeps_created_at=True)
    published = store.put(document("words", more='created_at: "2024-01-01"\n'), OPERATOR, base=None)
    assert published.created_at == published.tool.created_at == "2024-01-01"
    assert published.updated_at > "2024-01-01"


def test_updated_at_grows_even_if_the_clock_is_set_back(store, clock):
    dates = [store.put(document("words"), ANN, base=...).updated_at]
    for seconds in (0, 0, -3600, 7200):
        clock.advance(seconds)
        dates.append(store.put(document("words"), ANN, base=dates[-1]).updated_at)
    assert dates == sorted(set(dates))
    assert dates[1] == "2027-01-15T08:00:00.000001Z"


def test_foreign_endpoint_becomes_the_upstream_and_the_own_one_keeps_it(store):
    first_text = document("words", more='endpoint: "https://first.example/x"\n')
    cases = [
        (None, None),
        (f"{URL}/v3/tool/words", "first"),
        ("HTTPS://Tools.Example:443/v3/tool/words/", "first"),
        (f"{URL}/v3/tool/other", "/v3/tool/other"),
        ("http://127.0.0.1:8420/v3/tool/words", "first"),
        ("http://127.0.0.1:8420/v3/tool/other", "/v3/tool/other"),
        (f"{URL}/v3/tool/words?x=1", f"{URL}/v3/tool/words?x=1"),
        ("http://tools.example/v3/tool/words", "http://tools.example/v3/tool/words"),
        ("https://api.example/v3/tool/words", "https://api.example/v3/tool/words"),
    ]
    for endpoint, upstream in cases:
        with in_case(endpoint):
            first = store.put(first_text, ANN, base=...)
            assert first.upstream == "https://first.example/x"
            more = f'endpoint: "{endpoint}"\n' if endpoint else ""
            second = store.put(document("words", more=more), ANN, base=...)
            assert second.upstream == ("https://first.example/x" if upstream == "first" else upstream)
            # nothing runs a tool without run and upstream, so it has no address
            assert second.tool.endpoint == (f"{URL}/v3/tool/words" if upstream else None)
            assert second.tool.is_active is (upstream is not None)
            assert store.get("words", ANN) == second


@pytest.mark.parametrize(
    "text",
    [
        document("words", more=RUN + "endpoint: https://tools.example/v3/tool/words  # where it is\n"),
        document("words", more=RUN),
        "{id: words, name: Words, description: D, run: {argv: [wc]}}",
    ],
    ids=["as it was written", "added", "on one line"],
)
def test_endpoint_uses_the_current_platform_address(database, store, text):
    first = store.put(text, ANN, base=None)
    elsewhere = PublishedStore(database, url="http://127.0.0.1:9000")
    there = elsewhere.get("words", ANN)
    assert there.tool.endpoint == "http://127.0.0.1:9000/v3/tool/words"
    assert elsewhere.list(ANN) == [there]
    assert (there.updated_at, there.etag) == (first.updated_at, first.etag)
    assert ("# where it is" in there.text) == ("# where it is" in text)
    assert elsewhere.put(there.text, ANN, base=there.updated_at).upstream is None
    assert store.get("words", ANN).tool.endpoint == f"{URL}/v3/tool/words"


def test_only_the_owner_or_an_operator_may_change_a_tool(store):
    first = store.put(document("words", more="share: public\n"), ANN, base=None)
    for other in (BOB, EVE, STRANGER):
        with pytest.raises(ForbiddenError, match="belongs to somebody else"):
            store.put(document("words"), other, base=first.updated_at)
        with pytest.raises(ForbiddenError, match="belongs to somebody else"):
            store.remove("words", other)
    assert store.get("words", STRANGER) == first
    changed = store.put(document("words", "Better"), OPERATOR, base=first.updated_at)
    assert (changed.owner, changed.org, changed.tool.owner) == ("ann", "acme", "ann")


def test_only_an_operator_may_publish_for_another_owner(store):
    with pytest.raises(ForbiddenError, match="another owner than 'bob'"):
        store.put(document("words", more="owner: ann\n"), BOB, base=None)
    with pytest.raises(ForbiddenError, match="a key that has an owner"):
        store.put(document("words"), STRANGER, base=None)
    assert store.put(document("words", more="owner: bob\n"), BOB, base=None).owner == "bob"
    assert store.put(document("given", more="owner: ann\n"), OPERATOR, base=None).owner == "ann"
    assert store.put(document("own"), OPERATOR, base=None).owner == "op"
    nobody = store.put(document("nobodys"), PlatformUser(is_operator=True), base=None)
    assert (nobody.owner, nobody.tool.owner) == ("", None)
    assert ids(store.list(STRANGER)) == []


def test_list_and_get_have_the_same_visibility(store):
    for owner, share in product(("ann", "bob", "eve"), ("private", "org", "public")):
        viewer = {"ann": ANN, "bob": BOB, "eve": EVE}[owner]
        store.put(document(f"{owner}-{share}", more=f"share: {share}\n"), viewer, base=None)
    store.put(document("nobodys", more="share: org\n"), PlatformUser(is_operator=True), base=None)
    public = ["ann-public", "bob-public", "eve-public"]
    seen = {
        ANN: ["ann-org", "ann-private", "ann-public", "bob-org", "bob-public", "eve-public"],
        BOB: ["ann-org", "ann-public", "bob-org", "bob-private", "bob-public", "eve-public"],
        EVE: ["ann-public", "bob-public", "eve-org", "eve-private", "eve-public"],
        STRANGER: public,
        PlatformUser(owner="ANN", org="ACME"): public,
        PlatformUser(org="acme"): ["ann-org", "ann-public", "bob-org", "bob-public", "eve-public"],
    }
    everything = ids(store.list(OPERATOR))
    assert len(everything) == 10
    for viewer, expected in seen.items():
        assert ids(store.list(viewer)) == expected
        for tool in store.list(OPERATOR):
            assert viewer.may_see(tool.owner, tool.org, tool.share) is (tool.id in expected)
            if tool.id in expected:
                assert store.get(tool.id, viewer) == tool
            else:
                with pytest.raises(UnknownToolError):
                    store.get(tool.id, viewer)
                with pytest.raises(UnknownToolError):
                    store.remove(tool.id, viewer)
    assert ids(store.list(OPERATOR)) == everything


def test_unknown_id_error_names_the_nearest_visible_id(store):
    store.put(document("weather"), ANN, base=None)
    with pytest.raises(
        UnknownToolError, match=r"no tool 'wether' on the platform .*did you mean 'weather'\?"
    ):
        store.get("wether", ANN)
    with pytest.raises(UnknownToolError) as caught:
        store.get("wether", EVE)
    assert "weather" not in str(caught.value)


def test_impossible_ids_are_unknown(store):
    store.put(document("words", more="share: public\n"), ANN, base=None)
    for id in ["", "a\0b", "\ud800", "' OR '1'='1", "%", "x" * 10_000]:
        with in_case(id):
            with pytest.raises(UnknownToolError):
                store.remove(id, ANN)
            with pytest.raises(UnknownToolError) as caught:
                store.get(id, ANN)
            assert len(str(caught.value)) < 300


def test_tools_are_found_by_tag_owner_and_share(store):
    store.put(document("one", more="share: public\ntags: [a, b, a]\n"), ANN, base=None)
    store.put(document("two", more="share: org\ntags: [b]\n"), ANN, base=None)
    store.put(document("three", more="share: public\n"), BOB, base=None)
    assert ids(store.list(BOB, tag="b")) == ["one", "two"]
    assert ids(store.list(BOB, tag="a", owner="ann", share="public")) == ["one"]
    assert ids(store.list(BOB, owner="bob")) == ["three"]
    assert ids(store.list(BOB, share="org")) == ["two"]
    assert ids(store.list(EVE, tag="b")) == ["one"]
    for odd in ("", "' OR '1'='1", "a\0", "\udfff", "%"):
        assert store.list(BOB, tag=odd) == store.list(BOB, owner=odd) == store.list(BOB, share=odd) == []
    store.put(document("one", more="tags: [c]\n"), ANN, base=...)
    assert ids(store.list(ANN, tag="b")) == ["two"]
    assert ids(store.list(ANN, tag="c")) == ["one"]


def test_long_list_is_paged(store):
    names = ["a", "a-b", "a_b", "a0", "ab", "b"]
    for name in names:
        store.put(document(name), ANN, base=None)
    found, after = [], None
    while page := store.list(ANN, after=after, limit=2):
        found += ids(page)
        after = page[-1].id
    assert found == sorted(names)
    assert store.list(ANN, limit=0) == store.list(ANN, limit=-5) == store.list(ANN, after="z\0") == []
    assert len(store.list(ANN, limit=10**30)) == 6


def test_removed_tool_is_gone(store, clock):
    first = store.put(document("words", more="tags: [a]\n"), ANN, base=None)
    clock.advance(1)
    second = store.put(document("words"), ANN, base=first.updated_at)
    with pytest.raises(ConflictError):
        store.remove("words", ANN, base=first.updated_at)
    store.remove("words", ANN, base=second.updated_at)
    for _ in range(2):
        with pytest.raises(UnknownToolError):
            store.remove("words", ANN)
    assert store.list(OPERATOR) == store.list(OPERATOR, tag="a") == []
    assert store.taken(["words"]) == frozenset()


def test_id_of_a_removed_tool_stays_reserved_for_its_owner(store, clock):
    removers = {"private": ANN, "org": OPERATOR, "public": ANN}
    for share, remover in removers.items():
        with in_case(share):
            id = f"words-{share}"
            first = store.put(document(id, more=f"share: {share}\n"), ANN, base=None)
            store.remove(id, remover)
            for other in (BOB, EVE, STRANGER, PlatformUser(owner="Ann"), PlatformUser(org="acme")):
                for base in (None, ..., first.updated_at):
                    with pytest.raises(ForbiddenError, match=r"belongs to somebody else.*another id"):
                        store.put(document(id), other, base=base)
            assert store.list(OPERATOR) == []
            clock.advance(-3600)
            again = store.put(document(id), ANN, base=None)
            assert (again.owner, again.share) == ("ann", "private")
            assert again.updated_at > first.updated_at
            assert again.created_at == again.updated_at
            store.remove(id, ANN)
            with pytest.raises(ForbiddenError):
                store.put(document(id), BOB, base=None)


def test_operator_keeps_or_hands_over_the_id_of_a_removed_tool(store):
    store.put(document("words"), ANN, base=None)
    store.remove("words", ANN)
    assert store.put(document("words"), OPERATOR, base=None).owner == "ann"
    store.remove("words", OPERATOR)
    assert store.put(document("words", more="owner: bob\n"), OPERATOR, base=None).owner == "bob"
    assert store.put(document("words"), BOB, base=...).owner == "bob"
    store.remove("words", BOB)
    with pytest.raises(ForbiddenError):
        store.put(document("words"), ANN, base=None)


def test_database_of_the_first_version_reserves_ids_too(database, clock):
    database.migrate("shelf", MIGRATIONS[:1])
    text = document("words")
    with database.transaction() as transaction:
        transaction.execute(
            "INSERT INTO toolhaft_tools VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ["words", "ann", "acme", "public", text, None, "2026-01-01", "2026-01-01T00:00:00Z", 0, URL, 1],
        )
    store = PublishedStore(database, url=URL, clock=clock)
    assert store.get("words", BOB).text == text
    store.remove("words", ANN)
    with pytest.raises(ForbiddenError):
        store.put(text, BOB, base=...)
    assert store.put(text, ANN, base=...).owner == "ann"


def test_revision_grows_only_with_changes(store, database):
    seen = [store.revision()]
    published = store.put(document("words"), ANN, base=None)
    seen.append(store.revision())
    assert published.revision == seen[-1]
    store.put(document("words"), ANN, base=...)
    seen.append(store.revision())
    store.remove("words", ANN)
    seen.append(store.revision())
    assert seen == sorted(set(seen))
    with pytest.raises(UnknownToolError):
        store.remove("words", ANN)
    store.list(ANN)
    assert store.revision() == PublishedStore(database, url=URL).revision() == seen[-1]


def test_unreadable_row_raises_and_does_not_affect_others(store, database):
    store.put(document("bad"), ANN, base=None)
    store.put(document("good"), ANN, base=None)
    with database.transaction() as transaction:
        transaction.execute(
            "UPDATE toolhaft_tools SET text = ? WHERE id = 'bad'", ["!!python/object:os.system {}"]
        )
    bad, good = store.list(ANN)
    with pytest.raises(DefinitionError, match=r"bad\.yaml:1"):
        _ = bad.tool
    assert good.tool.name == "good"
    assert store.put(document("bad"), ANN, base=bad.updated_at).tool.name == "bad"


RICH = """\
when_to_use: Often
tags: [text, "größe"]
effect: read
parameters:
  - {name: text, type: string, description: "A \\t text"}
  - {name: limit, type: integer, required: false, default: 3, minimum: 1, description: How many}
returns:
  - {name: count, type: number, description: Words}
examples:
  - {input: {text: a}, output: {count: 1.0}}
"""


def test_fields_of_a_published_document_are_stored_and_not_parsed_again(store, monkeypatch):
    put = store.put(document("words", more=RICH), ANN, base=None)
    expected = tool_fields(parse_tool(put.text))
    assert put.fields == expected
    assert json.dumps(put.fields) == json.dumps(expected)

    def refuse(*_args, **_more):
        raise AssertionError("parsed again")

    monkeypatch.setattr(published, "parse_tool", refuse)
    monkeypatch.setattr(published, "read_document", refuse)
    for found in (
        store.get("words", ANN),
        *store.list(ANN),
        *store.find(["words"], ANN),
        *store.changed_since(0),
    ):
        assert found.fields == found.unchecked_fields() == expected


def test_stored_fields_are_not_used_with_another_text(store, database):
    put = store.put(document("words"), ANN, base=None)
    cases = {
        "another text": ("text", put.text.replace("Does something useful", "Does more")),
        "no stored fields": ("fields_text", None),
        "another kind": ("fields_text", f"0 {put.fields_text.partition(' ')[2]}"),
        "broken": ("fields_text", "2"),
    }
    for name, (column, value) in cases.items():
        with in_case(name):
            with database.transaction() as transaction:
                transaction.execute(f"UPDATE toolhaft_tools SET {column} = ?", [value])  # noqa: S608 -- a column of the table above
            found = store.get("words", ANN)
            assert found.fields == found.unchecked_fields() == tool_fields(parse_tool(found.text))
            assert ("Does more" in found.fields["description"]) == ("Does more" in found.text)


def test_tool_that_an_earlier_version_stored_and_nothing_runs_is_not_active(store, database):
    """Earlier versions wrote an endpoint and `is_active: true` into every document."""
    added = 'is_active: true\nendpoint: "https://tools.example/v3/tool/{id}"\n'
    cases = {"draft": ("", False), "run": (RUN, True), "behind": ("endpoint: https://a.example/x\n", True)}
    cases["calculator"] = ("", True)  # an installed tool runs it
    for id, (more, is_run) in cases.items():
        with in_case(id):
            text = store.put(document(id, more=more), OPERATOR, base=None).text
            with database.transaction() as transaction:
                transaction.execute(
                    "UPDATE toolhaft_tools SET text = ?, fields_text = NULL WHERE id = ?",
                    [text if is_run else text + added.format(id=id), id],
                )
            [found] = store.find([id], OPERATOR)
            assert is_active(found.fields) is is_run
            assert ("endpoint" in found.fields) is is_run
    assert store.put(document("draft"), OPERATOR, base=...).change == "nothing"


def test_stored_fields_follow_the_address_of_the_platform(store, database):
    store.put(document("words", more=RICH + RUN), ANN, base=None)
    elsewhere = PublishedStore(database, url="http://127.0.0.1:9")
    found = elsewhere.get("words", ANN)
    assert found.fields["endpoint"] == "http://127.0.0.1:9/v3/tool/words"
    assert found.fields == found.unchecked_fields() == tool_fields(parse_tool(found.text))


def test_only_changed_tools_are_read_after_a_revision(store):
    for id in ("one", "two", "three"):
        store.put(document(id), ANN, base=None)
    seen = store.revision()
    store.put(document("two", "Better"), ANN, base=...)
    store.remove("one", ANN)
    assert ids(store.changed_since(seen)) == ["two"]
    assert ids(store.changed_since(-1)) == ["three", "two"]
    assert ids(store.find(["two", "one", "three", "a\0"], EVE)) == []
    assert sorted(ids(store.find([*map(str, range(600)), "two", "three"], ANN))) == ["three", "two"]
