"""SQL texts: placeholders, statements, and values that both databases can store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import in_case
from toolhaft.errors import StorageError
from toolhaft.storage.sql import check_values, is_storable, number_placeholders, split_statements


def test_placeholders_are_numbered():
    cases = [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ? + ?", "SELECT $1 + $2"),
        ("SELECT '?', \"?\", ? -- ?\n, ?", "SELECT '?', \"?\", $1 -- ?\n, $2"),
        ("SELECT /* ? \n ? */ ?, 'it''s ?'", "SELECT /* ? \n ? */ $1, 'it''s ?'"),
        ("SELECT 5 - ? / ?", "SELECT 5 - $1 / $2"),
    ]
    for sql, numbered in cases:
        with in_case(sql, numbered):
            assert number_placeholders(sql) == numbered


def test_statements_are_split_at_unquoted_semicolons():
    cases = [
        ("", []),
        (" ; ;\n", []),
        ("A; B", ["A", "B"]),
        ("A ';' ; -- no ; end\n B;", ["A ';'", "-- no ; end\n B"]),
        ('A ";" /* ; */; -- the end', ['A ";" /* ; */']),
        ("A - B / C; D", ["A - B / C", "D"]),
    ]
    for sql, statements in cases:
        with in_case(sql, statements):
            assert split_statements(sql) == statements


@given(st.lists(st.sampled_from(["a", "'x;y'", '"q;"', "--c;\n", "/*;*/", "-", "/"])).map(" ".join))
def test_quoted_text_is_never_split(sql):
    assert split_statements(f"a {sql} ;b") == [f"a {sql}".strip(), "b"]


def test_values_are_converted_for_both_databases():
    assert check_values(["a", 1, True, None, 0.5]) == ("a", 1, 1, None, 0.5)


def test_values_that_one_database_cannot_store_are_refused():
    for value in ["a\0b", "\ud800", "é\udfff", 2**63, -(2**63) - 1]:
        with in_case(value), pytest.raises(StorageError, match="parameter 2"):
            check_values(["good", value])


@given(st.text())
def test_a_text_is_storable_if_it_is_utf8_without_nul(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        assert not is_storable(text)
    else:
        assert is_storable(text) is ("\0" not in text)
