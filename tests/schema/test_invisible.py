"""Characters that people do not see, and where a text needs them."""

from unittest.mock import Mock

from tests.cases import each_case, lines_run
from toolhaft.schema import invisible
from toolhaft.schema.invisible import invisible_characters, invisible_in


def tags(text):
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


@each_case(
    "text, names",
    [
        ("a\u200bb", ["U+200B ZERO WIDTH SPACE"]),
        ("a" + tags("Hi"), ["U+E0048 TAG LATIN CAPITAL LETTER H", "U+E0069 TAG LATIN SMALL LETTER I"]),
        ("\u202eabc\u202c", ["U+202E RIGHT-TO-LEFT OVERRIDE", "U+202C POP DIRECTIONAL FORMATTING"]),
        ("\u2066x", ["U+2066 LEFT-TO-RIGHT ISOLATE"]),
        ("x\u200e", ["U+200E LEFT-TO-RIGHT MARK"]),
        ("x\u061c", ["U+061C ARABIC LETTER MARK"]),
        ("soft\u00adhyphen", ["U+00AD SOFT HYPHEN"]),
        ("\u3164\uffa0\u115f", ["U+3164 HANGUL FILLER", "U+FFA0 HALFWIDTH HANGUL FILLER", "U+115F HANGUL CHOSEONG FILLER"]),
        ("\ufff9x", ["U+FFF9 INTERLINEAR ANNOTATION ANCHOR"]),
        ("\x1b[8m", ["U+001B ESCAPE"]),
        ("x\ufeffy", ["U+FEFF ZERO WIDTH NO-BREAK SPACE"]),
        ("x\u200dy", ["U+200D ZERO WIDTH JOINER"]),
        ("a\ufe0f", ["U+FE0F VARIATION SELECTOR-16"]),
        ("\U0001f600\U000e0101", ["U+E0101 VARIATION SELECTOR-18"]),
        ("\u2764\ufe0f\ufe0f", ["U+FE0F VARIATION SELECTOR-16"]),
        ("\U0001f600\u200d", ["U+200D ZERO WIDTH JOINER"]),
        ("\U0001f3f4" + tags("x") + "\U000e007f", ["U+E0078 TAG LATIN SMALL LETTER X", "U+E007F CANCEL TAG"]),
        ("\u0627\u200c\u200c\u0627", ["U+200C ZERO WIDTH NON-JOINER"] * 2),
        ("a\u2800b", ["U+2800 BRAILLE PATTERN BLANK"]),
        ("e\u034fe", ["U+034F COMBINING GRAPHEME JOINER"]),
        ("a\U00013430\U00016fe4", ["U+13430 EGYPTIAN HIEROGLYPH VERTICAL JOINER", "U+16FE4 KHITAN SMALL SCRIPT FILLER"]),
        ("a\U0001fffe\U0010ffff", ["U+1FFFE", "U+10FFFF"]),
    ],
)  # fmt: skip
def test_every_kind_of_invisible_character_is_found(text, names):
    assert [found.name for found in invisible_characters(text)] == names


@each_case(
    "text",
    [
        "plain text,\twith tabs\r\nand lines",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
        "API\u200c\u0647\u0627",  # a Persian plural of an English word
        "\u0915\u094d\u200d\u0937",  # Devanagari
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",  # Sinhala
        "\u0e44\u0e17\u0e22\u200b\u0e20\u0e32\u0e29\u0e32",  # Thai words
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f3f3\ufe0f\u200d\U0001f308",  # a rainbow flag
        "\U0001f469\U0001f3fd\u200d\U0001f680",  # an astronaut with a skin tone
        "\u2764\ufe0f \u26a0\ufe0f \u2139\ufe0f \u00a9\ufe0f \u2194\ufe0f 1\ufe0f\u20e3",
        "\U0001f3f4" + tags("gbsct") + "\U000e007f",  # the flag of Scotland
        "\u845b\U000e0100\u57ce",  # a variant of an ideograph
        "\u1820\u180b",  # Mongolian
        "\u2813\u280a\u2800\u283d",  # Braille
    ],
)
def test_characters_that_a_script_or_an_emoji_needs_are_accepted(text):
    assert list(invisible_characters(text)) == []


def test_keys_and_values_are_searched_with_their_path():
    value = {"a": [{"b\u200b": "x"}, {"c": "y\u2060"}], "d": 5}
    assert [(place, found.at) for place, found in invisible_in(value)] == [
        ("the key a[0].b\\u200b", 1),
        ("a[1].c", 1),
    ]


def test_the_work_of_the_search_does_not_grow_with_the_square_of_a_text(monkeypatch):
    flag = "\U0001f3f4" + tags("gbsct") + "\U000e007f"
    small, large = (
        lines_run(invisible, lambda text: list(invisible_characters(text)), flag * size)
        for size in (100, 200)
    )
    assert large < 3 * small
    searched = Mock(search=Mock(return_value=None))
    monkeypatch.setattr(invisible, "_BRAILLE", searched)
    assert len(list(invisible_characters("\u2800" * 50))) == 50
    assert searched.search.call_count == 1
