"""The reader of simple documents gives exactly what the parser gives, or leaves the document to the parser."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cases import in_case
from toolhaft.define.yaml import document
from toolhaft.define.yaml.document import parse_document, read_document
from toolhaft.define.yaml.simple_document import read_simple

DOCUMENT = """\
# a comment
id: "create_issue"
name: Create issue in a project
description: |
  First line
    more of it

  last
tags: [code, 'issue tracking', "a: b"]   # three

share: public
is_active: true
endpoint:
timeout_s: 2.5
metadata: {"a": [1, {b: null}], c: {}}
parameters:
  - {name: query, type: string, description: words to look for}
  - name: limit   # how many
    type: integer
    required: false
    default: 10
    enum:
    - 1
    - -2
    items:
      type: string
returns:
- name: x
  type: "string"
  description: It's "quoted" - and (more)
run: {python: "module:function"}
"""
VALUES = [
    "a", "1", "-1", "1.5", "0x1F", "0o17", "true", "null", "~", "Yes", "a b", "a: b", "a:b", "a #c", "a#c", "# c",
    "- a", "-a", "-", "--- a", "---", "...", '"q"', "'s'", '"a\\n"', '"a\\"b"', '"\\u200b"', '"\\x41"', "'it''s'",
    '"x" # c', '"x"#c', '"x" y', "[a, b]", "[]", "[ ]", "{a: 1}", "{}", "{a: 1, b: [1, 2]}", "[{a: 1}, {b: 2}]",
    "{a: 1,b: 2}", '{"a": 1}', '{"a":1}', "[a,b]", "[a , b ]", "[-1, - 1]", "[a:b]", "[a?]", "[?a]", "|", "|-", "|+",
    "|2", ">", ">-", "| # c", "&x a", "*x", "!t a", "@a", "`a", "%a", "a,b", "a]", "[a", "{a: 1", "https://x.y/z?a=b",
    "${env:A}", "a & b", "it's", 'say "hi"', "é", "日本", "2024-01-31", "1e5", "1e999", ".inf", "-.inf", ".nan", ".5",
    "5.", "+5", "+", "=", "<<", "<", "(a)", "a\\b", "a - b", "a ? b", "? a", ": a", ":a", "a:", "a :", "[a]b",
    "{a: 1}b", "{a: 1} # c", "''", '""', "[1, true, null, ~]", "{a: }", "{a}", "{a: ~}", "[a, ]", "[,a]", "00",
    "1_000", "a  # c", "a  ", "x" * 70, "9" * 301, "\u00a0", "a\tb", "a\u2028b", "\ufeffa", "a\u200bb", "{a: 1, a: 2}",
]  # fmt: skip
KEYS = [
    "a",
    "b",
    "c",
    "id",
    "name",
    "a-b",
    "a_b",
    "null",
    "true",
    '"q"',
    "'s'",
    '"a b"',
    "a b",
    "a.b",
    "1",
    "<<",
    "é",
    "y",
]

indents = st.sampled_from([0, 0, 0, 0, 2, 2, 2, 4, 4, 6, 1, 3]).map(lambda count: " " * count)
values = st.sampled_from(VALUES)
keys = st.sampled_from(KEYS)
lines = st.one_of(
    st.tuples(indents, keys, st.sampled_from([": ", ": ", ":  ", ":", " : "]), values).map("".join),
    st.tuples(indents, keys, st.just(":")).map("".join),
    st.tuples(indents, st.sampled_from(["- ", "-   "]), keys, st.just(": "), values).map("".join),
    st.tuples(indents, st.just("- "), values).map("".join),
    st.tuples(indents, values).map("".join),
    st.tuples(indents, st.sampled_from(["", "# c", "-", "- ", "text"])).map("".join),
)
documents = st.tuples(
    st.lists(lines, min_size=1, max_size=7).map("\n".join), st.sampled_from(["\n", "", "\n\n", "\n# c"])
).map("".join)


def check(text):
    """Compare the two readers; True if the document is simple."""
    simple = read_simple(text)
    if simple is None:
        return False
    root, problems = parse_document(text)
    assert problems == []
    assert simple == root
    return True


@settings(max_examples=300)
@given(documents)
@example("a: |\n  b\n\n\nc: d\n")
@example("a: |\n  b\n \n  # c\nd: e\n")
@example("a: b\n  - c\n")
@example("a: 'b\n   c \n d'\n")
@example("a:\n  - b: c\n    d:\n    - e\n")
def test_simple_reader_agrees_with_the_parser_on_any_lines(text):
    check(text)


@settings(max_examples=200)
@given(st.data())
def test_simple_reader_agrees_with_the_parser_on_changed_documents(data):
    text = DOCUMENT
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 2))
        text = (
            text[:place]
            + data.draw(st.sampled_from(["", *" \n:-#'\"[]{},|>\\&*!?%@a0~"]))
            + text[place + length :]
        )
    check(text)


def test_common_documents_are_simple():
    texts = [
        DOCUMENT,
        DOCUMENT.rstrip("\n"),
        "a: 1",
        "a: 1\n\n# c",
        "a:\n- 1\n- b: 2\n  c:\n    d: e\n",
        "a: [1, 'b', \"c\"]  # d\n",
        "a: |-\n  b\n   c\nd: e\n",
        'a: "b \\"c\\" \\n \\\\ \\/"\n',
        "'a b': c: d\n".replace("c: d", "c:d"),
        "a: é - 日本\n",
        f"a: {{b: {'9' * 300}}}\n",
        "---\na: b\n",
        "# c\n---  # d\na: b\n".replace("  # d", ""),
        "a: >\n  b\n  c\n\n  d\n\n\n  e\n\nf: >-\n  g\n  h\n",
        "a: b\n  c\n  d # e\nf:\n- g\n  h\n- i: j\n    k\n",
        "a: b - c\n  d?\n",
        "a: 'it''s\n  on\n\n  lines'\n'b''c': ''''\n",
        'a: "f\\xFCr \\u20AC\n  \\U0001F600"  # c\nb: "\\u00e9"\n',
        'a:\n  - b: "c\n      d"\n    e: f\n',
    ]
    for text in texts:
        with in_case(text):
            assert check(text)


def test_documents_with_anything_unusual_are_left_to_the_parser():
    texts = [
        "", "# c", "a", "- a\n", " a: b\n", "--- \na: b\n", "a: b\n...\n", "%YAML 1.2\n---\na: b\n", "a: &x b\nc: *x\n",
        "a: !t b\n", "a: b\na: c\n", "a: {b: 1, b: 2}\n", "a: >+\n  b\n", "a: >\n  b\n   c\n", "a: b\n\n  c\n", "a:\n  b\n",
        'a: "b\nc"\n', 'a: "b \\\n  c"\n', "a: ['b\n  c']\n", "a: b # c\n  d\n", "a: b\n  c: d\n", 'a: "\\ud83d\\ude00"\n',
        "a: b: c\n", "null: a\n", "<<: {a: b}\n", "? a\n: b\n", "a:\tb\n", "a: b\r\nc: d\r\n", "\ufeffa: b\n",
        "a: b\u200b\n", 'a: "\\u200b"\n', "a: .inf\n", f"a: {'9' * 301}\n", "a: 1e999\n", "a: - b\n", "a:\n  - - b\n",
        "a:\n    b: c\n  d: e\n", "a: [b\n  ]\n", f"a: {'[' * 40}{']' * 40}\n", "a: " + "[" + "1, " * 10_000 + "1]\n",
    ]  # fmt: skip
    for text in texts:
        with in_case(text):
            assert read_simple(text) is None


def test_documents_are_read_without_the_parser_where_possible(monkeypatch):
    monkeypatch.setattr(document, "parse_document", lambda _: (None, ["parsed"]))
    assert read_document(DOCUMENT)[1] == []
    assert read_document("a: >+\n  b\n")[1] == ["parsed"]


def test_long_texts_are_read_in_linear_time():
    """Each would take minutes if the time were quadratic."""
    spaces = " " * 190_000
    for text in (f'a: "b{spaces}c\n  d"\n', f"a: 'b{spaces}c\n  d'\n", "a: b\n" + "  c\n" * 45_000):
        with in_case(text[:20]):
            assert read_simple(text) is not None
