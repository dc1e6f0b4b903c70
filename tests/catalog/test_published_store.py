"""The published store on both databases: contents, owners, visibility."""

from itertools import product

import pytest

from tests.cases import in_case
from tests.postgres import KINDS, new_url
from tests.storage.child import document
from toolhaft.catalog.published import PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.resources.clock import FakeClock
from toolhaft.storage import open_database

URL = "https://tools.example"
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
    text = '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\ntags: [text]\n'
    published = store.put(text, ANN, base=None)
    assert published.text == (
        '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\nowner: "ann"\ntags: [text]\n'
        'created_at: "2027-01-15T08:00:00.000000Z"\nupdated_at: "2027-01-15T08:00:00.000000Z"\n'
        'is_active: true\nendpoint: "https://tools.example/v3/tool/words"\n'
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
    more = 'created_at: "2024-01-01"\nupdated_at: "2024-01-02T00:00:00Z"\n'
    published = store.put(document("words", more=more), ANN, base="2024-01-02T00:00:00Z")
    assert published.created_at == published.tool.created_at == "2024-01-01"
    assert published.updated_at == "2027-01-15T08:00:00.000000Z"


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
            assert second.tool.endpoint == f"{URL}/v3/tool/words"
            assert store.get("words", ANN) == second


@pytest.mark.parametrize(
    "text",
    [
        document("words", more="endpoint: https://tools.example/v3/tool/words  # where it is\n"),
        document("words"),
        "{id: words, name: Words, description: D}",
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


def test_removed_tool_frees_its_id(store, clock):
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
    assert store.put(document("words"), BOB, base=None).owner == "bob"


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
