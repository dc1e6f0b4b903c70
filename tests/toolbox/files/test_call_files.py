"""What the file tools say beside their values."""

from hypothesis import given
from hypothesis import strategies as st

from toolhaft.toolbox.files.call_files import counted, hidden_names_note, hidden_note
from toolhaft.toolbox.untrusted_text import hidden_characters

_ANY = st.text(
    st.one_of(st.sampled_from("ab\t\n\u202e\u200f\x1b\x85\ufeff\u2028\U000e0041é€😀"), st.characters())
)


@given(_ANY.map(lambda text: text.replace("\r", "").lstrip("\ufeff")))
def test_what_is_searched_for_in_what_is_left_is_found_as_in_the_whole(text):
    told = ", ".join(hidden_characters(text))
    assert hidden_note(text) == (f"characters in it that do not show: {told}" if told else "")
    found = hidden_names_note([text])
    assert found.endswith(told)
    assert bool(found) == bool(told or "\n" in text)


def test_a_byte_order_mark_is_news_where_no_file_begins():
    assert hidden_note("\ufeffx") == ""
    assert hidden_note("\ufeffx", begins_file=False) == "characters in it that do not show: U+FEFF"


def test_characters_beyond_what_a_model_gets_are_not_searched():
    beyond = "x" * 100_000 + "\u202e"
    assert hidden_note(beyond) == hidden_names_note([beyond]) == ""


def test_things_are_counted_as_people_do():
    assert [counted(number, "byte") for number in (0, 1, 2, 12_345)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "12,345 bytes",
    ]
    assert counted(2, "entry", "entries") == "2 entries"
