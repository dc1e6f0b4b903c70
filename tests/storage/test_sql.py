"""Tests of toolhaft.storage.sql: places, statements, and what may be kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.errors import StorageError
from toolhaft.storage.sql import check_values, is_storable, number_placeholders, split_statements


@pytest.mark.parametrize(
    ("sql", "numbered"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ? + ?", "SELECT $1 + $2"),
        ("SELECT '?', \"?\", ? -- ?\n, ?", "SELECT '?', \"?\", $1 -- ?\n, $2"),
        ("SELECT /* ? \n ? */ ?, 'it''s ?'", "SELECT /* ? \n ? */ $1, 'it''s ?'"),
        ("SELECT 5 - ? / ?", "SELECT 5 - $1 / $2"),
    ],
)
def test_each_place_gets_its_number(sql, numbered):
    assert number_placeholders(sql) == numbered


@pytest.mark.parametrize(
    ("sql", "statements"),
    [
        ("", []),
        (" ; ;\n", []),
        ("A; B", ["A", "B"]),
        ("A ';' ; -- no ; end\n B;", ["A ';'", "-- no ; end\n B"]),
        ('A ";" /* ; */; -- the end', ['A ";" /* ; */']),
        ("A - B / C; D", ["A - B / C", "D"]),
    ],
)
def test_statements_end_at_semicolons_that_are_not_quoted(sql, statements):
    assert split_statements(sql) == statements


@given(st.lists(st.sampled_from(["a", "'x;y'", '"q;"', "--c;\n", "/*;*/", "-", "/"])).map(" ".join))
def test_what_is_quoted_is_never_split(sql):
    assert split_statements(f"a {sql} ;b") == [f"a {sql}".strip(), "b"]


def test_values_are_made_what_both_databases_keep():
    assert check_values(["a", 1, True, None, 0.5]) == ("a", 1, 1, None, 0.5)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "é\udfff", 2**63, -(2**63) - 1])
def test_a_value_that_one_of_them_cannot_keep_is_refused(value):
    with pytest.raises(StorageError, match="parameter 2"):
        check_values(["good", value])


@given(st.text())
def test_a_text_is_storable_if_it_is_utf8_without_nul(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        assert not is_storable(text)
    else:
        assert is_storable(text) is ("\0" not in text)
