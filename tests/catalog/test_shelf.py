"""Tests of toolhaft.catalog.shelf on both databases: what is published, whose it is, who sees it."""

from itertools import product

import pytest

from tests.postgres import KINDS, new_url
from tests.storage.child import document
from toolhaft.catalog.shelf import Shelf
from toolhaft.catalog.viewer import Viewer
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.resources.clock import FakeClock
from toolhaft.storage import open_database

URL = "https://tools.example"
ANN = Viewer(owner="ann", org="acme")
BOB = Viewer(owner="bob", org="acme")
EVE = Viewer(owner="eve", org="other")
STRANGER = Viewer()
OPERATOR = Viewer(owner="op", org="ops", is_operator=True)


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    with open_database(new_url(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def clock():
    return FakeClock(epoch_s=1_800_000_000.0)


@pytest.fixture
def shelf(database, clock):
    return Shelf(database, url=f"{URL}/", clock=clock)


def ids(tools):
    return [tool.id for tool in tools]


def test_a_published_tool_keeps_its_text_and_gets_its_dates_owner_and_endpoint(shelf):
    text = '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\ntags: [text]\n'
    published = shelf.put(text, ANN, base=None)
    assert published.text == (
        '# mine\nid: "words"  # short\nname: Words\ndescription: Counts words\nowner: "ann"\ntags: [text]\n'
        'created_at: "2027-01-15T08:00:00.000000Z"\nupdated_at: "2027-01-15T08:00:00.000000Z"\n'
        'is_active: true\nendpoint: "https://tools.example/v3/tool/words"\n'
    )
    assert shelf.get("words", ANN) == published
    assert published.tool.endpoint == "https://tools.example/v3/tool/words"
    assert published.tool is published.tool
    assert published.etag == '"2027-01-15T08:00:00.000000Z"'
    assert (published.owner, published.org, published.share, published.upstream) == (
        "ann",
        "acme",
        "private",
        None,
    )


def test_every_problem_of_a_text_is_told_with_its_line_and_nothing_is_stored(shelf):
    with pytest.raises(DefinitionError) as caught:
        shelf.put("id: NO\nname: Words\nshare: everybody\n", ANN, base=None)
    told = str(caught.value)
    assert ":1:" in told
    assert ":3:" in told
    assert "description" in told
    assert shelf.list(OPERATOR) == []
    assert shelf.revision() == 0


@pytest.mark.parametrize("more", ['owner: "a\\0b"\n', 'tags: ["a\\0b"]\n'])
def test_a_word_that_no_database_keeps_is_refused_in_the_text(shelf, more):
    with pytest.raises(DefinitionError, match="NUL"):
        shelf.put(document("words", more=more), OPERATOR, base=None)


def test_publishing_again_needs_the_date_that_the_change_was_made_from(shelf, clock):
    first = shelf.put(document("words"), ANN, base=None)
    clock.advance(1)
    second = shelf.put(document("words", "Better"), ANN, base=first.updated_at)
    assert second.updated_at > first.updated_at
    assert second.created_at == first.created_at
    with pytest.raises(
        ConflictError, match=r"published again at 2027-01-15T08:00:01.*get it.*then publish"
    ) as caught:
        shelf.put(document("words", "Worse"), ANN, base=first.updated_at)
    assert caught.value.current == second.updated_at
    assert shelf.get("words", ANN) == second


def test_a_tool_that_must_be_new_is_not_overwritten(shelf):
    first = shelf.put(document("words"), ANN, base=None)
    with pytest.raises(ConflictError, match=r"exists.*get it") as caught:
        shelf.put(document("words"), ANN, base=None)
    assert caught.value.current == first.updated_at


def test_an_overwrite_asks_for_no_date(shelf):
    shelf.put(document("words"), ANN, base=...)
    assert "Better" in shelf.put(document("words", "Better"), ANN, base=...).text


def test_a_tool_that_is_not_there_is_made_whatever_the_date(shelf):
    more = 'created_at: "2024-01-01"\nupdated_at: "2024-01-02T00:00:00Z"\n'
    published = shelf.put(document("words", more=more), ANN, base="2024-01-02T00:00:00Z")
    assert published.created_at == published.tool.created_at == "2024-01-01"
    assert published.updated_at == "2027-01-15T08:00:00.000000Z"


def test_dates_only_grow_also_when_the_clock_is_turned_back(shelf, clock):
    dates = [shelf.put(document("words"), ANN, base=...).updated_at]
    for seconds in (0, 0, -3600, 7200):
        clock.advance(seconds)
        dates.append(shelf.put(document("words"), ANN, base=dates[-1]).updated_at)
    assert dates == sorted(set(dates))
    assert dates[1] == "2027-01-15T08:00:00.000001Z"


@pytest.mark.parametrize(
    ("endpoint", "upstream"),
    [
        (None, None),
        (f"{URL}/v3/tool/words", "first"),
        ("HTTPS://Tools.Example:443/v3/tool/words/", "first"),
        (f"{URL}/v3/tool/other", "/v3/tool/other"),
        ("http://127.0.0.1:8420/v3/tool/words", "first"),
        ("http://127.0.0.1:8420/v3/tool/other", "/v3/tool/other"),
        (f"{URL}/v3/tool/words?x=1", f"{URL}/v3/tool/words?x=1"),
        ("http://tools.example/v3/tool/words", "http://tools.example/v3/tool/words"),
        ("https://api.example/v3/tool/words", "https://api.example/v3/tool/words"),
    ],
)
def test_an_endpoint_elsewhere_becomes_the_upstream_and_ones_own_leaves_it(shelf, endpoint, upstream):
    first = shelf.put(document("words", more='endpoint: "https://first.example/x"\n'), ANN, base=None)
    assert first.upstream == "https://first.example/x"
    more = f'endpoint: "{endpoint}"\n' if endpoint else ""
    second = shelf.put(document("words", more=more), ANN, base=...)
    assert second.upstream == ("https://first.example/x" if upstream == "first" else upstream)
    assert second.tool.endpoint == f"{URL}/v3/tool/words"
    assert shelf.get("words", ANN) == second


@pytest.mark.parametrize(
    "text",
    [
        document("words", more="endpoint: https://tools.example/v3/tool/words  # where it is\n"),
        document("words"),
        "{id: words, name: Words, description: D}",
    ],
    ids=["as it was written", "added", "on one line"],
)
def test_a_tool_is_told_at_the_address_that_the_platform_is_served_at(database, shelf, text):
    first = shelf.put(text, ANN, base=None)
    elsewhere = Shelf(database, url="http://127.0.0.1:9000")
    there = elsewhere.get("words", ANN)
    assert there.tool.endpoint == "http://127.0.0.1:9000/v3/tool/words"
    assert elsewhere.list(ANN) == [there]
    assert (there.updated_at, there.etag) == (first.updated_at, first.etag)
    assert ("# where it is" in there.text) == ("# where it is" in text)
    assert elsewhere.put(there.text, ANN, base=there.updated_at).upstream is None
    assert shelf.get("words", ANN).tool.endpoint == f"{URL}/v3/tool/words"


def test_only_its_owner_or_an_operator_changes_a_tool(shelf):
    first = shelf.put(document("words", more="share: public\n"), ANN, base=None)
    for other in (BOB, EVE, STRANGER):
        with pytest.raises(ForbiddenError, match="belongs to somebody else"):
            shelf.put(document("words"), other, base=first.updated_at)
        with pytest.raises(ForbiddenError, match="belongs to somebody else"):
            shelf.remove("words", other)
    assert shelf.get("words", STRANGER) == first
    changed = shelf.put(document("words", "Better"), OPERATOR, base=first.updated_at)
    assert (changed.owner, changed.org, changed.tool.owner) == ("ann", "acme", "ann")


def test_nobody_publishes_in_the_name_of_another_but_an_operator(shelf):
    with pytest.raises(ForbiddenError, match="another owner than 'bob'"):
        shelf.put(document("words", more="owner: ann\n"), BOB, base=None)
    with pytest.raises(ForbiddenError, match="a key that has an owner"):
        shelf.put(document("words"), STRANGER, base=None)
    assert shelf.put(document("words", more="owner: bob\n"), BOB, base=None).owner == "bob"
    assert shelf.put(document("given", more="owner: ann\n"), OPERATOR, base=None).owner == "ann"
    assert shelf.put(document("own"), OPERATOR, base=None).owner == "op"
    nobody = shelf.put(document("nobodys"), Viewer(is_operator=True), base=None)
    assert (nobody.owner, nobody.tool.owner) == ("", None)
    assert ids(shelf.list(STRANGER)) == []


def test_lists_and_single_reads_show_the_same_to_everybody(shelf):
    for owner, share in product(("ann", "bob", "eve"), ("private", "org", "public")):
        viewer = {"ann": ANN, "bob": BOB, "eve": EVE}[owner]
        shelf.put(document(f"{owner}-{share}", more=f"share: {share}\n"), viewer, base=None)
    shelf.put(document("nobodys", more="share: org\n"), Viewer(is_operator=True), base=None)
    public = ["ann-public", "bob-public", "eve-public"]
    seen = {
        ANN: ["ann-org", "ann-private", "ann-public", "bob-org", "bob-public", "eve-public"],
        BOB: ["ann-org", "ann-public", "bob-org", "bob-private", "bob-public", "eve-public"],
        EVE: ["ann-public", "bob-public", "eve-org", "eve-private", "eve-public"],
        STRANGER: public,
        Viewer(owner="ANN", org="ACME"): public,
        Viewer(org="acme"): ["ann-org", "ann-public", "bob-org", "bob-public", "eve-public"],
    }
    everything = ids(shelf.list(OPERATOR))
    assert len(everything) == 10
    for viewer, expected in seen.items():
        assert ids(shelf.list(viewer)) == expected
        for tool in shelf.list(OPERATOR):
            assert viewer.may_see(tool.owner, tool.org, tool.share) is (tool.id in expected)
            if tool.id in expected:
                assert shelf.get(tool.id, viewer) == tool
            else:
                with pytest.raises(UnknownToolError):
                    shelf.get(tool.id, viewer)
                with pytest.raises(UnknownToolError):
                    shelf.remove(tool.id, viewer)
    assert ids(shelf.list(OPERATOR)) == everything


def test_an_unknown_id_names_the_nearest_that_the_viewer_may_see(shelf):
    shelf.put(document("weather"), ANN, base=None)
    with pytest.raises(
        UnknownToolError, match=r"no tool 'wether' on the platform .*did you mean 'weather'\?"
    ):
        shelf.get("wether", ANN)
    with pytest.raises(UnknownToolError) as caught:
        shelf.get("wether", EVE)
    assert "weather" not in str(caught.value)


@pytest.mark.parametrize("id", ["", "a\0b", "\ud800", "' OR '1'='1", "%", "x" * 10_000])
def test_an_id_that_cannot_be_is_unknown(shelf, id):
    shelf.put(document("words", more="share: public\n"), ANN, base=None)
    with pytest.raises(UnknownToolError):
        shelf.remove(id, ANN)
    with pytest.raises(UnknownToolError) as caught:
        shelf.get(id, ANN)
    assert len(str(caught.value)) < 300


def test_tools_are_found_by_tag_owner_and_share(shelf):
    shelf.put(document("one", more="share: public\ntags: [a, b, a]\n"), ANN, base=None)
    shelf.put(document("two", more="share: org\ntags: [b]\n"), ANN, base=None)
    shelf.put(document("three", more="share: public\n"), BOB, base=None)
    assert ids(shelf.list(BOB, tag="b")) == ["one", "two"]
    assert ids(shelf.list(BOB, tag="a", owner="ann", share="public")) == ["one"]
    assert ids(shelf.list(BOB, owner="bob")) == ["three"]
    assert ids(shelf.list(BOB, share="org")) == ["two"]
    assert ids(shelf.list(EVE, tag="b")) == ["one"]
    for odd in ("", "' OR '1'='1", "a\0", "\udfff", "%"):
        assert shelf.list(BOB, tag=odd) == shelf.list(BOB, owner=odd) == shelf.list(BOB, share=odd) == []
    shelf.put(document("one", more="tags: [c]\n"), ANN, base=...)
    assert ids(shelf.list(ANN, tag="b")) == ["two"]
    assert ids(shelf.list(ANN, tag="c")) == ["one"]


def test_a_long_list_comes_in_pages(shelf):
    names = ["a", "a-b", "a_b", "a0", "ab", "b"]
    for name in names:
        shelf.put(document(name), ANN, base=None)
    found, after = [], None
    while page := shelf.list(ANN, after=after, limit=2):
        found += ids(page)
        after = page[-1].id
    assert found == sorted(names)
    assert shelf.list(ANN, limit=0) == shelf.list(ANN, limit=-5) == shelf.list(ANN, after="z\0") == []
    assert len(shelf.list(ANN, limit=10**30)) == 6


def test_a_removed_tool_is_gone_and_its_id_free(shelf, clock):
    first = shelf.put(document("words", more="tags: [a]\n"), ANN, base=None)
    clock.advance(1)
    second = shelf.put(document("words"), ANN, base=first.updated_at)
    with pytest.raises(ConflictError):
        shelf.remove("words", ANN, base=first.updated_at)
    shelf.remove("words", ANN, base=second.updated_at)
    for _ in range(2):
        with pytest.raises(UnknownToolError):
            shelf.remove("words", ANN)
    assert shelf.list(OPERATOR) == shelf.list(OPERATOR, tag="a") == []
    assert shelf.put(document("words"), BOB, base=None).owner == "bob"


def test_the_revision_grows_with_every_change_and_with_nothing_else(shelf, database):
    seen = [shelf.revision()]
    published = shelf.put(document("words"), ANN, base=None)
    seen.append(shelf.revision())
    assert published.revision == seen[-1]
    shelf.put(document("words"), ANN, base=...)
    seen.append(shelf.revision())
    shelf.remove("words", ANN)
    seen.append(shelf.revision())
    assert seen == sorted(set(seen))
    with pytest.raises(UnknownToolError):
        shelf.remove("words", ANN)
    shelf.list(ANN)
    assert shelf.revision() == Shelf(database, url=URL).revision() == seen[-1]


def test_a_row_that_was_spoilt_says_so_when_it_is_read_and_leaves_others_alone(shelf, database):
    shelf.put(document("bad"), ANN, base=None)
    shelf.put(document("good"), ANN, base=None)
    with database.transaction() as transaction:
        transaction.execute(
            "UPDATE toolhaft_tools SET text = ? WHERE id = 'bad'", ["!!python/object:os.system {}"]
        )
    bad, good = shelf.list(ANN)
    with pytest.raises(DefinitionError, match=r"bad\.yaml:1"):
        _ = bad.tool
    assert good.tool.name == "good"
    assert shelf.put(document("bad"), ANN, base=bad.updated_at).tool.name == "bad"
