"""Search ranks listings without loading a tool."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.catalog_tools import make_listings
from tests.cases import in_case
from tests.catalog.kit import LONG
from toolhaft.catalog import Catalog, search
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.search import IndexedWords, SearchIndex, SearchView, split_words, stem

TOOLS = [
    Listing(id="convert_currency", title="Convert currency", description="Money from one currency to another."),
    Listing(id="convert_units", title="Convert units", description="Metres to feet, and so on."),
    Listing(id="send_mail", title="Send mail", description="Sends an email.", tags=("email",), search_text="subject body"),
    Listing(id="read_mail", title="Read mail", description="Reads emails.", tags=("email",), search_text="folder"),
    Listing(id="readFile", title="File", description="The contents of a file on disk."),
    Listing(id="wetter", title="Wetter", description="Sagt, wie schön es wird."),
    Listing(id="tenki", title="天気予報", description="東京の天気予報を調べる"),
    Listing(id="mail", title="Post", description="Letters on paper."),
]  # fmt: skip
INDEX = SearchIndex(TOOLS)


def found(text, **more):
    return [one.id for one in INDEX.search(text, **more)]


def test_best_match_comes_first():
    cases = [
        ("convert currency", "convert_currency"),
        ("converting currencies", "convert_currency"),
        ("I want to convert some money from one currency into another", "convert_currency"),
        ("CONVERT UNITS", "convert_units"),
        ("send an email", "send_mail"),
        ("convert_units", "convert_units"),
        ("convert-units", "convert_units"),
        ("Convert Units", "convert_units"),
        ("mail", "mail"),
        ("curr", "convert_currency"),
        ("subject", "send_mail"),
        ("read a file", "readFile"),
        ("schon", "wetter"),
        ("SCHÖN", "wetter"),
        ("天気", "tenki"),
        ("東京の天気", "tenki"),
        ("the", "readFile"),
        ("", None),
        ("  ", None),
        ("zzz", None),
        ("'\";--*)(", None),
    ]
    for text, best in cases:
        with in_case(text, best):
            assert next(iter(found(text)), None) == best


def test_tool_whose_id_is_the_text_comes_first():
    listings = [
        Listing(id=f"mail_{n}", title="Mail mail", description="mail mail", tags=("mail",)) for n in range(9)
    ]
    index = SearchIndex([*listings, Listing(id="mail", title="Post", description="Letters.")])
    assert index.search("mail")[0].id == "mail"
    assert len(index.search("mail")) == 10


def test_stop_words_are_searched_if_there_are_no_other_words():
    assert found("to") == ["convert_currency", "convert_units"]


def test_limit_and_filter_apply():
    assert found("mail", limit=1) == ["mail"]
    assert found("mail", limit=0) == []
    assert found("mail", limit=-1) == []
    assert sorted(found("mail", fits=lambda one: "email" in one.tags)) == ["read_mail", "send_mail"]
    assert found("mail", limit=1, fits=lambda one: one.id == "read_mail") == ["read_mail"]


def test_equal_scores_keep_the_order_of_listings():
    twins = [Listing(id=f"twin_{letter}", description="same words") for letter in "cab"]
    assert [one.id for one in SearchIndex(twins).search("same")] == ["twin_c", "twin_a", "twin_b"]


def test_an_empty_index_finds_nothing():
    assert SearchIndex([]).search("anything") == []


def test_common_word_ranks_matches_of_a_rarer_word():
    index = SearchIndex(
        [
            *(
                Listing(id=f"issue_{n}", title=f"Issue {n}", description="About an issue.")
                for n in range(300)
            ),
            *(Listing(id=f"create_{n}", title=f"Create thing {n}") for n in range(40)),
            Listing(id="create_ticket", title="Create", description="Files a new issue."),
        ]
    )
    assert index.search("create issue")[0].id == "create_ticket"
    assert len(index.search("issue", limit=1_000)) == 301


def test_each_of_thousands_of_tools_is_found_by_its_description():
    listings = make_listings(1_500)
    index = SearchIndex(listings)
    for one in listings[1::299]:
        assert index.search(one.title)[0] == one


def test_word_endings_are_ignored():
    cases = [
        ("convert converts converting converted", "convert"),
        ("create creates creating created", "creat"),
        ("query queries", "queri"),
        ("stop stopped stopping", "stop"),
        ("match matches matching", "match"),
        ("box boxes", "box"),
        ("address addresses", "address"),
        ("status", "status"),
        ("analysis", "analysis"),
        ("bring", "bring"),
        ("gas", "gas"),
        ("red", "red"),
        ("call calls called calling", "call"),
        ("h264", "h264"),
        ("été", "été"),
    ]
    for words, root in cases:
        with in_case(words, root):
            assert {stem(word) for word in words.split()} == {root}


def test_names_are_split_into_their_words():
    assert split_words("getUserById get_user-by.id HTTPServer2") == [
        "get", "user", "by", "id", "get", "user", "by", "id", "httpserver2",
    ]  # fmt: skip


@settings(max_examples=1_000 if LONG else 40)
@given(st.text(max_size=300), st.integers(-3, 30))
def test_generated_queries_respect_the_limit(text, limit):
    hits = INDEX.search(text, limit=limit)
    assert len(hits) <= max(0, limit)
    assert len({one.id for one in hits}) == len(hits)


@settings(max_examples=1_000 if LONG else 40)
@given(st.text(max_size=60))
def test_generated_listings_are_found_by_their_titles(title):
    index = SearchIndex([*TOOLS, Listing(id="own", title=title)])
    if split_words(title):
        assert "own" in [one.id for one in index.search(title, limit=20)]


def test_start_and_end_of_a_long_text_are_searched(monkeypatch):
    split, similar = [], []
    index = SearchIndex(TOOLS)
    monkeypatch.setattr(search, "split_words", lambda text: split.append(len(text)) or split_words(text))
    monkeypatch.setattr(SearchIndex, "_similar", lambda _, word: similar.append(word) or iter(()))
    index.search(" ".join(f"word{number:05}" for number in range(100_000)))
    assert max(split) == 4_001
    assert similar == [f"word{number:05}" for number in (*range(16), *range(99_984, 100_000))]
    monkeypatch.setattr(SearchIndex, "_find_postings", lambda _, words: similar.append(words) or [])
    index.search(" ".join(f"word{number:05}" for number in range(100_000)))
    assert similar[-1] == [f"word{number:05}" for number in (*range(64), *range(99_936, 100_000))]


UNRELATED = """
The town lies where two rivers meet, below hills on which monks once grew grapes. In spring the lower streets flood,
and children sail paper boats past the bakery, whose owner tells visitors about the year in which a swan nested behind
his oven. Older people remember a theatre with red curtains; it burned down one winter night, and only its marble stairs
survived. Today a market fills that square twice weekly: cheese, honey, wooden spoons, second-hand novels. A retired
sailor repairs clocks under an awning and refuses payment from anyone who can whistle. Beyond the bridge begin orchards,
then heath, then a forest where wolves were seen again after a century. Painters come for its evening light, botanists
for an orchid that flowers nowhere else, and walkers because nothing there ever hurries. Trains stop only when somebody
waves. The station has been painted yellow, green and finally blue, since every mayor wanted to be remembered by
something cheap. Nobody recalls their names, although everyone agrees that blue suits a place which smells of rain,
apples and wet dogs for half of each year, and whose single policeman collects butterflies, plays chess by letter and
sleeps through most thunderstorms without noticing.
"""


def test_a_request_before_or_after_two_hundred_unrelated_words_is_found():
    assert len(UNRELATED.split()) > 180
    index = SearchIndex(make_listings(1_500))
    request = "Convert 20 pounds into another currency at today's exchange rate."
    for text in (f"{UNRELATED}\n\n{request}", f"{request} {UNRELATED}"):
        assert index.search(text)[0].id == "convert_currency"


def test_a_misspelled_word_is_found():
    cases = [
        ("convret", "convert_currency"),
        ("curency", "convert_currency"),
        ("currrency", "convert_currency"),
        ("currensy", "convert_currency"),
        ("sned a letter", "send_mail"),
        ("metrs", "convert_units"),
        ("cetres", None),  # two edits
        ("wurrency", None),  # the first letter counts as right
        ("maill", "mail"),
    ]
    for text, best in cases:
        with in_case(text, best):
            assert next(iter(found(text)), None) == best


def test_a_known_word_is_not_corrected():
    index = SearchIndex([Listing(id="mail"), Listing(id="maid")])
    assert [one.id for one in index.search("mail")] == ["mail"]
    assert {one.id for one in index.search("maix")} == {"mail", "maid"}


def test_an_unknown_word_is_not_taken_for_a_word_that_the_text_has_already():
    index = SearchIndex([Listing(id="share_file"), Listing(id="list_file")])
    assert [one.id for one in index.search("last")] == ["list_file"]
    # equal scores keep the order of the listings; with a second `list`, list_file would be first
    assert [one.id for one in index.search("share list last")] == ["share_file", "list_file"]


def test_words_of_changed_listings_are_corrected_too():
    words = IndexedWords()
    words.add("a", Listing(id="weather"))
    assert [one.id for one in SearchView(words).search("wether")] == ["weather"]
    words.add("b", Listing(id="invoice"))
    assert [one.id for one in SearchView(words).search("invoise")] == ["invoice"]
    words.remove("a")
    assert SearchView(words).search("wether") == []


def test_a_misspelled_word_finds_only_visible_listings():
    words = IndexedWords()
    words.add("a", Listing(id="weather"), ("ann",))
    words.add("b", Listing(id="leather"), ("bob",))
    assert [one.id for one in SearchView(words, {("ann",)}).search("wether")] == ["weather"]
    assert SearchView(words, {("bob",)}).search("wether") == []


def test_words_of_others_do_not_keep_a_misspelled_word_from_being_found():
    words = IndexedWords()
    similar = [f"weathr{letter}" for letter in "abcdfgijklmnopqstuvwxyz"]
    similar += [f"weat{letter}hr" for letter in "abcdfgijklmnopqstuvwxyz"]
    similar += [f"wea{letter}thr" for letter in "abcdfgijklmnopqstuvwxyz"]
    words.add("many", Listing(id="many", title="Many", description=" ".join(similar)), ("eve",))
    public, own = ("public",), ("bob",)
    view = frozenset((public, own))
    for key, group in (("weather", public), ("weathers_of_bob", own)):
        words.add(key, Listing(id=key, title=key, description="Get the weather"), group)
        assert key in [one.id for one in SearchView(words, view).search("weathr")]
    for key, group in (("invoice", public), ("invoices_of_bob", own)):  # the words are updated, too
        words.add(key, Listing(id=key, title=key, description="Pay an invoice"), group)
        assert key in [one.id for one in SearchView(words, view).search("invoise")]
        words.remove(key)
        assert key not in [one.id for one in SearchView(words, view).search("invoise")]
    words.remove("weathers_of_bob")
    assert [one.id for one in SearchView(words, view).search("weathr")] == ["weather"]


def test_ids_without_separators_are_found():
    listings = [
        *(Listing(id=f"file_{n}", description="Read a file.") for n in range(20)),
        Listing(id="read_file", description="Contents."),
        Listing(id="web-search", description="Pages."),
        Listing(id="getUserById", description="People."),
        Listing(id="websearch2", description="websearch websearch"),
    ]
    index = SearchIndex(listings)
    cases = [
        ("readfile", "read_file"),
        ("ReadFile", "read_file"),
        ("READFILE", "read_file"),
        ("open the notes with readfile please", "read_file"),
        ("websearch", "web-search"),
        ("getuserbyid", "getUserById"),
        ("get_user_by_id", "getUserById"),
    ]
    for text, best in cases:
        with in_case(text, best):
            assert index.search(text)[0].id == best


def test_the_exact_id_comes_before_another_spelling_of_it():
    index = SearchIndex([Listing(id="read_file"), Listing(id="readfile")])
    assert index.search("readfile")[0].id == "readfile"
    assert index.search("read_file")[0].id == "read_file"


def test_a_title_equal_to_the_id_counts_once():
    words = IndexedWords()
    for title in ("zebra_a", "Zebra A", "", "Zebra B"):
        words.add(title, Listing(id="zebra_a", title=title))
    assert [entry.lengths[:2] for entry in words.entries.values()] == [(2, 0), (2, 0), (2, 0), (2, 2)]


def test_a_question_that_is_not_a_text_is_refused():
    for wrong in (None, 5, b"mail", ["mail"]):
        with in_case(wrong), pytest.raises(TypeError, match="a search takes a text, not "):
            INDEX.search(wrong)
        with in_case(wrong), pytest.raises(TypeError, match="a search takes a text, not "):
            Catalog([]).search(wrong)
    with pytest.raises(TypeError, match="a search takes a text, not 5"):
        Catalog([]).entries(text=5)
    with pytest.raises(TypeError, match="limit does not take None; write a whole number"):
        INDEX.search("mail", limit=None)


def test_prefix_matches_a_limited_number_of_words():
    index = SearchIndex([Listing(id=f"t{n}", title=f"alpha{n:03}") for n in range(60)])
    assert len(index.search("alph", limit=100)) == 24


def test_common_words_rank_only_the_best_matches_of_rarer_ones():
    rare = [Listing(id=f"r{n}", title="rare common" if n == 550 else "rare other") for n in range(600)]
    index = SearchIndex([*rare, *(Listing(id=f"c{n}", title="common") for n in range(1_800))])
    assert index.search("rare common", limit=1)[0].id == "r0"  # r550 is not among the first 500
    assert "r550" in [one.id for one in index.search("rare common", limit=600)]


def test_one_letter_is_not_a_prefix():
    index = SearchIndex([Listing(id="mail"), Listing(id="map")])
    assert index.search("m") == []
    assert len(index.search("ma")) == 2


WORDS = st.sampled_from(
    ["mail", "mails", "currency", "currencies", "convert", "zebra", "zeal", "report", "a", "to"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
GROUPS = [("", "public"), ("ann", "private"), ("bob", "private"), ("ann", "org")]


@settings(max_examples=400 if LONG else 60)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.sampled_from([*GROUPS, None]), TEXTS, TEXTS, TEXTS),
        max_size=20,
    ),
    st.sets(st.sampled_from(GROUPS)),
    TEXTS,
)
def test_view_of_some_groups_finds_the_same_as_an_index_without_the_others(changes, groups, query):
    words, kept = IndexedWords(), {}
    for id, group, title, description, search_text in changes:
        listing = Listing(id=id, title=title, description=description, search_text=search_text)
        if group is None:
            words.remove(id)
            kept.pop(id, None)
        else:
            words.add(id, listing, group)
            kept[id] = (listing, group)
    alone = SearchIndex([listing for _, (listing, group) in sorted(kept.items()) if group in groups])
    view = SearchView(words, groups)
    for text in (query, f"{query} rep", *kept):
        for _ in range(2):  # the second time with the weights of the first
            assert view.search(text, limit=5) == alone.search(text, limit=5)
            assert view.search(text, limit=100) == alone.search(text, limit=100)
    everything = SearchView(words)
    assert {one.id for one in everything.search("mail zebra report", limit=100)} <= kept.keys()


def test_view_of_thousands_of_tools_finds_the_same_as_an_index_without_the_others():
    listings = sorted(make_listings(1_200), key=lambda one: one.id)
    words = IndexedWords()
    for one in listings:
        words.add(one.id, one, (one.owner, one.share))
    groups = {
        ("team-1", "private"),
        ("team-5", "org"),
        *((f"team-{number}", "public") for number in range(12)),
    }
    alone = SearchIndex([one for one in listings if (one.owner, one.share) in groups])
    view = SearchView(words, groups)
    for text in (
        "create an issue",
        "sha",
        "when somebody asks there",
        listings[7].description,
        "github_get_issue",
    ):
        with in_case(text):
            assert view.search(text, limit=50) == alone.search(text, limit=50)
