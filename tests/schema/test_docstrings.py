"""Docstrings of every style."""

from collections.abc import Callable
from textwrap import indent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from toolhaft.schema.docstrings import Docstring, read_docstring

DESCRIBED = {
    "nothing": (None, ""),
    "an empty text": ("", ""),
    "blanks": (" \n\t\n ", ""),
    "one line": ("Search the web.", "Search the web."),
    "one line with a colon": ("Search: the web.", "Search: the web."),
    "one line between blank ones": ("\n    Search the web.\n    ", "Search the web."),
    "one line ending in a colon": ("Search for:", "Search for:"),
    "a header alone": ("Args:", ""),
    "paragraphs": ("Search.\n\n    Slow,\n    yes.\n\n    Free.\n", "Search.\n\nSlow,\nyes.\n\nFree."),
    "a first line below the quotes": ("\n    Search.\n\n    Slowly.\n", "Search.\n\nSlowly."),
    "a first line indented more": ("      Search.\n  Slowly.", "Search.\nSlowly."),
    "an indented block": (
        "Search.\n\n    As in:\n\n        search('x')\n    ",
        "Search.\n\nAs in:\n\n    search('x')",
    ),
    "an indented block before a header": (
        "Search.\n\n        search('x')\n\n    Args:\n        x: It.\n    ",
        "Search.\n\n    search('x')",
    ),
    "tabs": ("Search.\n\n\tSlowly.\n\t\tVery.\n", "Search.\n\nSlowly.\n        Very."),
    "carriage returns": ("Search.\r\nSlowly.\r\n\r\nArgs:\r\n    x: It.\r\n", "Search.\nSlowly."),
    "trailing blanks": ("Search.  \n   \n  Slowly.  \n", "Search.\n\nSlowly."),
    "a remark on one line": ("Search.\n\n    Note: this is slow.\n    ", "Search.\n\nNote: this is slow."),
    "returns on one line": ("Search.\n\n    Returns: a list.\n    ", "Search.\n\nReturns: a list."),
    "a literal block": ("Search.\n\n    Example::\n\n        f()\n    ", "Search.\n\nExample::\n\n    f()"),
    "a word of prose that is a title too": ("Take an\n    example:\n    this.", "Take an\nexample:\nthis."),
    "a heading that is no section": ("Search\n------\nSlowly.", "Search\n------\nSlowly."),
    "a role": ("Search.\n\n    :class:`Web` is searched.", "Search.\n\n:class:`Web` is searched."),
    "an emoji": ("Search.\n\n    :key: Needs a key.", "Search.\n\n:key: Needs a key."),
    "a field without an end": ("Search.\n\n    :param x", "Search.\n\n:param x"),
    "a lonely colon": ("Search.\n\n    :\n    ::", "Search.\n\n:\n::"),
    "a quoted header": (
        "Write a docstring.\n\n    Like this::\n\n        Args:\n            x: It.\n    ",
        "Write a docstring.\n\nLike this::\n\n    Args:\n        x: It.",
    ),
}


@each_case(("text", "description"), DESCRIBED.values(), ids=DESCRIBED)
def test_description_is_all_before_the_first_section_without_its_margin(text: str | None, description: str):
    found = read_docstring(text)
    assert found.description == description
    assert found.parameters in ({}, {"x": "It."})


@each_case(
    "title",
    [
        *("Args", "Returns", "Raises", "Yields", "Receives", "Warns", "Warnings", "Example", "Examples"),
        *("Note", "Notes", "See Also", "References", "Attributes", "Todo", "Tip", "Important", "Hint"),
    ],
)
@each_case("spell", [str.title, str.capitalize, str.upper])
def test_every_known_header_ends_the_description_and_the_section_before(
    title: str, spell: Callable[[str], str]
):
    title = spell(title)
    google = f"Search.\n\n    Args:\n        x: It.\n\n    {title}:\n        Nothing of it.\n    "
    numpy = f"Search.\n\nParameters\n----------\nx\n    It.\n\n{title}\n-----\nNothing of it.\n"
    field = f"Search.\n\n    :param x: It.\n    {title}:\n        Nothing of it.\n    "
    for text in (google, numpy, field):
        assert read_docstring(text)[:2] == ("Search.", {"x": "It."})
    assert read_docstring(f"Search.\n\n    {title}:\n        Nothing of it.\n    ").description == "Search."


Parameters = dict[str, str]
PLAIN = {
    "query": "The search query",
    "limit": "Maximum results (default: 10)",
    "tags": "Optional filter tags",
}

GOOGLE: dict[str, tuple[str, Parameters]] = {
    "plain entries": (
        """
        Args:
            query: The search query
            limit: Maximum results (default: 10)
            tags: Optional filter tags
        """,
        PLAIN,
    ),
    "types": (
        """
        Args:
            a (int): One.
            b (int, optional): Two.
            c (dict[str, tuple(int, str)]): Three.
            d (int, default: 4): Four: yes.
            e(str): Five.
            f (str) : Six (: or 6).
        """,
        {"a": "One.", "b": "Two.", "c": "Three.", "d": "Four: yes.", "e": "Five.", "f": "Six (: or 6)."},
    ),
    "stars, quotes and bullets": (
        """
        Args:
            *args: One.
            **kwargs: Two.
            \\*more: Three.
            `a`: Four.
            - b: Five.
            * `c` (int): Six.
        """,
        {"args": "One.", "kwargs": "Two.", "more": "Three.", "a": "Four.", "b": "Five.", "c": "Six."},
    ),
    "names that share a text": (
        "\nArgs:\n    x, y (float): Where.\n    *args, **kwargs: What.\n    a / b: Which.\n",
        {"x": "Where.", "y": "Where.", "args": "What.", "kwargs": "What.", "a": "Which.", "b": "Which."},
    ),
    "texts on more than one line": (
        """
        Args:
            a: One
                and a half,
              or less.
            b:
                Two.
            c: Three,
            without indentation.
        """,
        {"a": "One and a half, or less.", "b": "Two.", "c": "Three, without indentation."},
    ),
    "texts of more than one paragraph": (
        """
        Args:
            a: One.

                More
                of it.


                And more.

            b: Two.
        """,
        {"a": "One.\n\nMore of it.\n\nAnd more.", "b": "Two."},
    ),
    "colons and addresses": (
        """
        Args:
            a: One of: x, y
                default: x
            b: See
            https://example.com/a: it is there
            c: http://example.com
            d: {"e": 1}
        """,
        {
            "a": "One of: x, y default: x",
            "b": "See https://example.com/a: it is there",
            "c": "http://example.com",
            "d": '{"e": 1}',
        },
    ),
    "no space behind the colon": ("\nArgs:\n    a:One.\n", {"a": "One."}),
    "blank lines everywhere": ("\nArgs:\n\n    a: One.\n\n    b: Two.\n\n", {"a": "One.", "b": "Two."}),
    "an entry indented less": (
        "\nArgs:\n      a: One.\n    b: Two.\n      c: Three.\n",
        {"a": "One.", "b": "Two.", "c": "Three."},
    ),
    "two spaces": (
        "Search.\n\n  Args:\n    a: One,\n      yes.\n    b: Two.\n",
        {"a": "One, yes.", "b": "Two."},
    ),
    "tabs": ("Search.\n\n\tArgs:\n\t\ta: One,\n\t\t\tyes.\n\t\tb: Two.\n", {"a": "One, yes.", "b": "Two."}),
    "no indentation": ("\n    Args:\n    a: One.\n    b: Two.\n\n    Thanks.\n", {"a": "One.", "b": "Two."}),
    "the header behind the quotes": (
        "Args:\n        a: One.\n        b: Two.\n\n    Call it once.\n    ",
        {"a": "One.", "b": "Two."},
    ),
    "names that are titles": (
        "\nArgs:\n    returns: One.\n    note:\n        Two.\n    Example: Three.\n",
        {"returns": "One.", "note": "Two.", "Example": "Three."},
    ),
    "several sections": (
        "\nArgs:\n    a: 1\n\nKeyword Args:\n    b: 2\nOther Parameters:\n    c: 3\narguments:\n    d: 4\n",
        {"a": "1", "b": "2", "c": "3", "d": "4"},
    ),
    "prose behind the section": ("\nArgs:\n    a: One.\n\nUsage: call it.\nb: Two.\n", {"a": "One."}),
    "prose at the start": ("\nArgs:\n    All of these are optional:\n    a: One.\n", {"a": "One."}),
    "a name without a text": ("\nArgs:\n    a:\n    b: Two.\n", {"b": "Two."}),
    "a name explained twice": ("\nArgs:\n    a: One.\n    a: Two.\n", {"a": "One."}),
    "no entry at all": ("\nArgs:\n    Nothing to say (see: there).\n    x y: z\n", {}),
    "other sections": (
        "\nRaises:\n    KeyError: No.\nAttributes:\n    b: No.\nArgs:\n    a: 1\nSee Also:\n    c: No.\n",
        {"a": "1"},
    ),
}


@each_case(("text", "parameters"), GOOGLE.values(), ids=GOOGLE)
def test_google_entries_are_read(text: str, parameters: dict[str, str]):
    assert read_docstring(text).parameters == parameters


NUMPY: dict[str, tuple[str, Parameters]] = {
    "plain entries": (
        """
        Parameters
        ----------
        query : str
            The search query
        limit : int, optional
            Maximum results (default: 10)
        tags
            Optional filter tags
        """,
        PLAIN,
    ),
    "names that share a text": (
        """
        Parameters
        ----------
        a, b : int
            Both.
        *args, **kwargs
            The rest.
        """,
        {"a": "Both.", "b": "Both.", "args": "The rest.", "kwargs": "The rest."},
    ),
    "lines and paragraphs": (
        """
        Parameters
        ----------

        a : {'x', 'y'}
            One
            line.

            Another: yes.

        b: int
            Two.
        """,
        {"a": "One line.\n\nAnother: yes.", "b": "Two."},
    ),
    "indented entries": (
        "Search.\n\nParameters\n----------\n    a : int\n        One.\n    b\n        Two.\n",
        {"a": "One.", "b": "Two."},
    ),
    "names that are titles": (
        "\nParameters\n----------\nargs : list\n    One.\nNote: str\n    Two.\n",
        {"args": "One.", "Note": "Two."},
    ),
    "odd names": (
        "\nParameters\n----------\na\n    One.\nb[0] : int\n    Two.\nc\n    Three.\n",
        {"a": "One.", "c": "Three."},
    ),
    "no texts": ("\nParameters\n----------\na : int\nb : int\n", {}),
    "several sections": (
        """
        Parameters
        ----------
        a : int
            One.

        Made Up Title
        -------------
        b : int
            Two.

        Other Parameters
        ----------------
        c : int
            Three.

        Raises
        ------
        ValueError
            If it is bad.
        """,
        {"a": "One.", "c": "Three."},
    ),
    "a colon before the line": ("\nParameters:\n-----------\na : int\n    One.\n", {"a": "One."}),
    "the header behind the quotes": (
        "Parameters\n    ----------\n    a : int\n        One.\n    ",
        {"a": "One."},
    ),
    "no line": ("\nParameters\na : int\n    One.\n", {}),
    "a line too short": ("\nParameters\n--\na : int\n    One.\n", {}),
}


@each_case(("text", "parameters"), NUMPY.values(), ids=NUMPY)
def test_numpy_entries_are_read(text: str, parameters: dict[str, str]):
    assert read_docstring(text).parameters == parameters


FIELDS: dict[str, tuple[str, Parameters]] = {
    "plain fields": (
        """Search.

        :param query: The search query
        :param int limit: Maximum results (default: 10)
        :param tags: Optional filter tags
        """,
        PLAIN,
    ),
    "all spellings": (
        "\n:param a: 1\n:parameter b: 2\n:arg c: 3\n:argument d: 4\n:key e: 5\n:keyword dict[a, b] f: 6\n",
        {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"},
    ),
    "stars": (
        "\n:param *args: 1\n:param \\*\\*kwargs: 2\n:param `a`: 3\n",
        {"args": "1", "kwargs": "2", "a": "3"},
    ),
    "lines and paragraphs": (
        """
        :param a: One
            and a half,
            or: less.

            More.
        :param b:
            Two.
        :param c: Three
        without indentation.

        Prose: this is.
        """,
        {"a": "One and a half, or: less.\n\nMore.", "b": "Two.", "c": "Three without indentation."},
    ),
    "other fields": (
        """
        :param a: One.
        :type a: int
        :raises ValueError: If it is bad.
        :param b: Two.
        :rtype: int
            or so
        """,
        {"a": "One.", "b": "Two."},
    ),
    "odd names": ("\n:param a: One.\n:param b[0]: Two.\n:param c: Three.\n", {"a": "One.", "c": "Three."}),
    "one line": (":param a: One.", {"a": "One."}),
    "a name without a text": (":param a:", {}),
}


@each_case(("text", "parameters"), FIELDS.values(), ids=FIELDS)
def test_fields_are_read(text: str, parameters: dict[str, str]):
    assert read_docstring(text).parameters == parameters


RETURNS = {
    "google": (
        "\nReturns:\n    A list: of\n    results.\n\n    Or none.\n",
        "A list: of results.\n\nOr none.",
    ),
    "google, on the line": ("\nArgs:\n    x: It.\nReturns: A list.\n", "A list."),
    "google, no indentation": ("\nReturns:\nA list.\n\nThanks.\n", "A list."),
    "google, before the parameters": ("\nReturns:\n    A list.\nArgs:\n    x: It.\n", "A list."),
    "numpy": ("\nReturns\n-------\nlist of str\n    A list.\nint\n    A count.\n", "A list. A count."),
    "numpy, named": ("\nReturns\n-------\nfound : list\n    A list.\n", "A list."),
    "numpy, prose": ("\nReturns\n-------\nA list\nof results.\n\nThanks.\n", "A list of results."),
    "field": ("\n:returns: A list\n    of: results.\n:rtype: list\n", "A list of: results."),
    "field, the other spelling": ("\n:return: A list.\n\nThanks.\n", "A list."),
    "one line": (":returns: A list.", "A list."),
    "nothing": ("\nReturns:\n", ""),
    "none": ("Search.", ""),
}


@each_case(("text", "returns"), RETURNS.values(), ids=RETURNS)
def test_returns_text_is_read(text: str, returns: str):
    assert read_docstring(text).returns == returns


def test_styles_may_be_mixed():
    text = """Search.

    Args:
        a: One.

    :param b: Two.
    :returns: A list.

    Parameters
    ----------
    c : int
        Three.

    Raises:
        ValueError: If it is bad.

    Keyword Args:
        d: Four.
    """
    expected = Docstring("Search.", {"a": "One.", "b": "Two.", "c": "Three.", "d": "Four."}, "A list.")
    assert read_docstring(text) == expected


NAMES = st.text("abz_", min_size=1, max_size=6) | st.sampled_from(["args", "returns", "note", "param"])
WORDS = st.text("abz019:/().,'`*=", min_size=1, max_size=6).map("x{}".format) | st.sampled_from(
    ["(default:", "10)", "https://example.com", "Note:", "Args:", "Returns:", "x:", ":param", "y:", "*", "é"]
)
# A text is paragraphs of lines of words.
LINES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
TEXTS = st.lists(st.lists(LINES, min_size=1, max_size=3), min_size=1, max_size=3)
PARAMETERS = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4)

Text = list[list[str]]


def lay_out(text: Text) -> str:
    return "\n\n".join("\n".join(lines) for lines in text)


def render_google(name: str, text: Text) -> str:
    return indent(f"{name}: {indent(lay_out(text), '    ').lstrip()}", "    ")


def render_numpy(name: str, text: Text) -> str:
    return f"{name} : int\n{indent(lay_out(text), '    ')}"


def render_field(name: str, text: Text) -> str:
    return f":param int {name}: {indent(lay_out(text), '    ').lstrip()}"


@pytest.mark.parametrize(
    ("header", "render"),
    [("Args:\n", render_google), ("Parameters\n----------\n", render_numpy), ("", render_field)],
    ids=["google", "numpy", "field"],
)
@given(parameters=PARAMETERS, margin=st.sampled_from(["", "    ", "\t"]), gap=st.sampled_from(["\n", "\n\n"]))
@settings(max_examples=30, deadline=None)
def test_a_rendered_docstring_reads_back_the_same(
    header: str, render: Callable[[str, Text], str], margin: str, parameters: dict[str, Text], gap: str
):
    entries = gap.join(render(name, text) for name, text in parameters.items())
    text = "Search the web.\n\n" + indent(f"Slowly.\n\n{header}{entries}\n\nReturns:\n    A list.\n", margin)
    expected = {name: "\n\n".join(" ".join(lines) for lines in text) for name, text in parameters.items()}
    assert read_docstring(text) == Docstring("Search the web.\n\nSlowly.", expected, "A list.")


PIECES = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "\r\n",
            " ",
            "    ",
            "\t",
            "\x0c",
            "\u2028",
            "\xa0",
            "x",
            "y: ",
            ":",
            "::",
            ": ",
            "-",
            "----",
        ),
        *(
            "Args:",
            "Parameters",
            "Returns",
            "Returns:",
            "Note:",
            "returns: ",
            ":param",
            ":param x:",
            ":returns:",
        ),
        *("(", ")", "):", "*", "`", ",", ".", "\\", "Search", "é", "\0", "\ud800"),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@example(":")
@example("Returns\n---")
@example("Args:\n(")
@settings(max_examples=30, deadline=None)
def test_no_docstring_raises(text: str):
    found = read_docstring(text)
    assert found.description == found.description.strip()
    assert all(name.isidentifier() and value for name, value in found.parameters.items())
