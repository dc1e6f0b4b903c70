"""What the file tools say beside their values."""

from hypothesis import given
from hypothesis import strategies as st

from toolhaft.toolbox.files.notes import counted, hidden_in, hidden_in_names
from toolhaft.toolbox.outside import hidden_characters

_ANY = st.text(
    st.one_of(st.sampled_from("ab\t\n\u202e\u200f\x1b\x85\ufeff\u2028\U000e0041é€😀"), st.characters())
)


@given(_ANY.map(lambda text: text.replace("\r", "").lstrip("\ufeff")))
def test_what_is_searched_for_in_what_is_left_is_found_as_in_the_whole(text):
    told = ", ".join(hidden_characters(text))
    assert hidden_in(text) == (f"characters in it that do not show: {told}" if told else "")
    found = hidden_in_names([text])
    assert found.endswith(told)
    assert bool(found) == bool(told or "\n" in text)


def test_a_byte_order_mark_is_news_where_no_file_begins():
    assert hidden_in("\ufeffx") == ""
    assert hidden_in("\ufeffx", begins_file=False) == "characters in it that do not show: U+FEFF"


def test_things_are_counted_as_people_do():
    assert [counted(number, "byte") for number in (0, 1, 2, 12_345)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "12,345 bytes",
    ]
    assert counted(2, "entry", "entries") == "2 entries"
