"""The notes in the messages of the file tools."""

from hypothesis import given
from hypothesis import strategies as st

from toolhaft.toolbox.files.call_files import hidden_names_note, hidden_note
from toolhaft.toolbox.untrusted_text import counted, hidden_characters

_ANY = st.text(
    st.one_of(st.sampled_from("ab\t\n\u202e\u200f\x1b\x85\ufeff\u2028\U000e0041é€😀"), st.characters())
)


@given(_ANY.map(lambda text: text.replace("\r", "").lstrip("\ufeff")))
def test_what_is_searched_for_in_what_is_left_is_found_as_in_the_whole(text):
    told = ", ".join(hidden_characters(text))
    assert hidden_note(text) == (f"hidden characters in it: {told}" if told else "")
    found = hidden_names_note([text])
    assert found.endswith(told)
    assert bool(found) == bool(told or "\n" in text)


def test_byte_order_mark_inside_a_file_is_reported():
    assert hidden_note("\ufeffx") == ""
    assert hidden_note("\ufeffx", begins_file=False) == "hidden characters in it: U+FEFF"


def test_characters_beyond_what_a_model_gets_are_not_searched():
    beyond = "x" * 100_000 + "\u202e"
    assert hidden_note(beyond) == hidden_names_note([beyond]) == ""


def test_counted_uses_singular_and_plural():
    assert [counted(number, "byte") for number in (0, 1, 2, 12_345)] == [
        "0 bytes",
        "1 byte",
        "2 bytes",
        "12,345 bytes",
    ]
    assert counted(2, "entry", "entries") == "2 entries"
