"""Sections: their arguments, params and texts."""

import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

import pytest

from tests.cases import each_case
from toolhaft import tool
from toolhaft.errors import PromptEvaluationError, PromptValidationError
from toolhaft.prompt import MarkdownSection, Prompt, ReadBeforeWrite, Section, SectionVisibility
from toolhaft.session import Session


@dataclass
class Params:
    topic: str = "tea"
    is_expert: bool = False


@dataclass
class Strict:
    topic: str


@tool
def search(query: str) -> str:
    """Search."""
    return query


def section(**options):
    return MarkdownSection[Params](**{"title": "Title", "key": "key", **options})


def render(*sections, params=(), **options):
    return Prompt(name="p", sections=sections).bind(*params).render(**options)


@each_case(
    ("options", "message"),
    [
        ({"key": "a b"}, "'a b' cannot be the key of a section"),
        ({"key": ""}, "'' cannot be the key of a section"),
        ({"key": ".a"}, "'.a' cannot be the key of a section"),
        ({"key": 5}, "5 cannot be the key of a section"),
        ({"key": "k" * 65}, "cannot be the key of a section"),
        ({"title": " "}, "section 'key': its title is empty. Fix: give title='...'"),
        ({"title": None}, "section 'key': its title must be text, not None"),
        ({"template": 5}, "section 'key': its template must be text, not 5"),
        ({"summary": ""}, "section 'key': its summary is empty"),
        (
            {"visibility": "summary"},
            "section 'key': it can be summarised, and has no summary. Fix: give summary='...'",
        ),
        ({"visibility": lambda: "full"}, "it can be summarised, and has no summary"),
        ({"visibility": "hidden"}, "its visibility is invalid: 'hidden' is neither 'full' nor 'summary'"),
        ({"enabled": "yes"}, "its enabled is invalid: 'yes' is neither True nor False"),
        ({"enabled": lambda a, b: True}, "its enabled cannot be called: it takes a, b"),
        ({"enabled": lambda *, other: True}, "its enabled cannot be called: it takes other"),
        ({"children": ["text"]}, "section 'key': 'text' is not a section"),
        (
            {"children": None},
            "section 'key': children is not a list: None. Fix: write children=[...]",
        ),
        ({"policies": 5}, "section 'key': policies is not a list: 5"),
        (
            {"policies": [ReadBeforeWrite]},
            "policies contains the class ReadBeforeWrite. Fix: create one: ReadBeforeWrite",
        ),
        ({"policies": ["x"]}, "section 'key': 'x' is not a tool policy. Fix: give an object with a name and"),
        ({"session": 5}, "section 'key': its session is 5, not a Session"),
        ({"accepts_overrides": "no"}, "its accepts_overrides is 'no', and must be True or False"),
        ({"children": MarkdownSection(title="A", key="a")}, "children is a list of sections, not one"),
    ],
)
def test_an_invalid_argument_of_a_section_is_refused(options, message):
    with pytest.raises(PromptValidationError) as caught:
        section(**options)
    assert message in str(caught.value)


def test_sections_are_nested_at_most_50_deep():
    made = MarkdownSection(title="T", key="k50")
    for level in range(49, 0, -1):
        made = MarkdownSection(title="T", key=f"k{level}", children=[made])
    assert render(made).text.count("T") == 50
    with pytest.raises(PromptValidationError, match="section 'k0': sections are nested more than 50 deep"):
        MarkdownSection(title="T", key="k0", children=[made])


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tool'"):
        section(tool=[search])


class Async:
    async def __call__(self):
        return True


async def decide_later():
    return True


@pytest.mark.parametrize("decide", [decide_later, Async()])
def test_an_async_function_for_enabled_is_refused(decide):
    with pytest.raises(PromptValidationError, match="its enabled is async, and rendering is synchronous"):
        section(enabled=decide)


class Typed(TypedDict):
    topic: str


class Shape(Protocol):
    topic: str


@pytest.mark.parametrize("kind", ["Params", 5, list[int] | None, Typed, Shape])
def test_params_are_a_type(kind):
    with pytest.raises(
        PromptValidationError, match=r"params are found by isinstance, .*\. Fix: MarkdownSection\[Params\]"
    ):
        MarkdownSection[kind]


@pytest.mark.parametrize("kind", [None, type(None), Any])
def test_a_section_may_declare_no_params(kind):
    assert MarkdownSection[kind](title="T", key="t").params_type is None


def test_sections_of_one_type_are_of_one_class():
    assert MarkdownSection[Params] is MarkdownSection[Params]
    assert MarkdownSection[Params] is not MarkdownSection[Strict]
    assert issubclass(MarkdownSection[Params], MarkdownSection)
    assert repr(section()) == "<MarkdownSection[Params] 'key'>"


def test_headings_are_numbered_by_depth():
    deep = MarkdownSection(title="L7", key="k7", template="bottom")
    for level in range(6, 0, -1):
        deep = MarkdownSection(title=f"L{level}", key=f"k{level}", children=[deep])
    last = MarkdownSection(title="Two  lines\nof title", key="last", template="end")
    assert render(deep, last).text == (
        "## 1. L1\n\n### 1.1. L2\n\n#### 1.1.1. L3\n\n##### 1.1.1.1. L4\n\n###### 1.1.1.1.1. L5\n\n"
        "###### 1.1.1.1.1.1. L6\n\n###### 1.1.1.1.1.1.1. L7\n\nbottom\n\n## 2. Two lines of title\n\nend"
    )


@each_case(
    "decide",
    [
        lambda: False,
        lambda params: params.is_expert,
        lambda params, *, session: session is None,
        lambda *, session: session is None,
        lambda session: session is None,
        lambda *params: params[0].is_expert,
        lambda params, *rest: params.is_expert or rest != (),
        lambda session, /: session.is_expert,
        False,
    ],
)
def test_a_disabled_section_is_left_out_with_its_tools_and_children(decide):
    child = MarkdownSection(title="Child", key="child", tools=[search])
    rendered = render(
        section(enabled=decide, children=[child], template="gone"),
        MarkdownSection(title="Stays", key="stays"),
        session=Session(),
    )
    assert rendered.text == "## 1. Stays"
    assert rendered.tools == ()


def test_a_function_for_enabled_is_called_at_each_rendering():
    prompt = Prompt(name="p", sections=[section(enabled=lambda params: params.is_expert, tools=[search])])
    assert prompt.bind(Params(is_expert=True)).render().tools == (search,)
    assert prompt.bind(Params(is_expert=False)).render().tools == ()
    assert prompt.render().tools == ()


@pytest.mark.parametrize(
    ("decide", "problem"),
    [
        (lambda params: params.nothing, "its enabled could not be evaluated: AttributeError"),
        (lambda: None, "its enabled could not be evaluated: ValueError: None is neither True nor False"),
        (lambda *, session: True, "its enabled needs a session. Fix: write prompt.render"),
    ],
)
def test_a_failing_function_is_reported_with_the_section_path(decide, problem):
    outer = MarkdownSection(title="Outer", key="outer", children=[section(enabled=decide)])
    with pytest.raises(PromptEvaluationError, match=problem) as caught:
        render(outer)
    assert str(caught.value).startswith("section 'outer.key': its enabled ")
    assert caught.value.section_path == ("outer", "key")


def test_params_that_are_not_bound_are_reported_with_the_names_that_need_them():
    outer = MarkdownSection(
        title="O",
        key="outer",
        children=[MarkdownSection[Strict](title="T", key="t", template="$topic $topic")],
    )
    with pytest.raises(PromptValidationError) as caught:
        render(outer)
    assert str(caught.value) == (
        "section 'outer.t': Strict is not bound, and its text needs $topic. "
        "Fix: render the prompt that bind(Strict(...)) returns"
    )


def test_unused_params_need_not_be_bound():
    assert (
        render(MarkdownSection[Strict](title="T", key="t", template="Use tools.")).text
        == "## 1. T\n\nUse tools."
    )


def test_params_with_defaults_need_not_be_bound():
    assert render(section(template="about $topic")).text == "## 1. Title\n\nabout tea"


def test_a_section_without_a_type_takes_its_parents():
    child = MarkdownSection(title="C", key="c", template="more $topic")
    own = MarkdownSection[Strict](title="D", key="d", template="own $topic")
    text = render(section(children=[child, own]), params=[Params("a"), Strict("b")]).text
    assert text == "## 1. Title\n\n### 1.1. C\n\nmore a\n\n### 1.2. D\n\nown b"


def test_a_value_of_a_derived_type_is_taken_for_its_base():
    @dataclass
    class Finer(Strict):
        pass

    rendered = render(MarkdownSection[Strict](title="T", key="t", template="$topic"), params=[Finer("fine")])
    assert rendered.text == "## 1. T\n\nfine"


def test_a_value_that_is_false_is_still_a_value():
    @dataclass
    class Empty(Strict):
        def __bool__(self):
            return False

    rendered = render(MarkdownSection[Strict](title="T", key="t", template="$topic"), params=[Empty("here")])
    assert rendered.text == "## 1. T\n\nhere"


def test_a_section_may_make_its_text_in_code():
    class Count(Section[Params]):
        def body(self, params):
            return f"\n{len(params.topic)} letters\n"

    assert render(Count(title="Count", key="count")).text == "## 1. Count\n\n3 letters"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda self, params: 5, "its body returned 5, which is not text"),
        (lambda self, params: params.nothing, "its body failed: AttributeError"),
    ],
)
def test_a_text_made_in_code_that_fails_is_reported_by_section_path(body, problem):
    kind = type("Made", (Section[Params],), {"body": body})
    with pytest.raises(PromptEvaluationError, match=f"section 'made': {problem}"):
        render(kind(title="Made", key="made"))


def test_a_section_without_a_body_is_told_what_to_define():
    with pytest.raises(PromptEvaluationError, match=r"Section has no text: define body\(self, params\)"):
        render(Section(title="T", key="t"))


def test_visibility_may_be_a_function():
    made = section(
        visibility=lambda params: SectionVisibility.FULL if params.is_expert else "summary",
        template="all",
        summary="short",
        tools=[search],
    )
    assert "short" in render(made).text
    assert render(made, params=[Params(is_expert=True)]).text == "## 1. Title\n\nall"
    assert render(made, params=[Params(is_expert=True)]).tools == (search,)


def test_a_function_of_params_needs_a_params_type():
    untyped = MarkdownSection(title="T", key="t", enabled=lambda params: params.is_expert)
    with pytest.raises(
        PromptEvaluationError, match=r"section 't': its enabled needs params.* MarkdownSection\[Params\]"
    ):
        render(untyped)


def test_visibility_may_be_written_in_capitals():
    assert section(visibility="SUMMARY", summary="s").visibility.value is SectionVisibility.SUMMARY


def test_a_section_with_a_template_may_make_its_text_in_code_instead():
    class Shout(MarkdownSection[Params]):
        def body(self, params):
            return params.topic.upper()

    assert render(Shout(title="T", key="t", template="not this")).text == "## 1. T\n\nTEA"


def test_params_whose_defaults_fail_say_why():
    @dataclass
    class Broken:
        topic: str = ""

        def __post_init__(self):
            raise KeyError("FOO")

    with pytest.raises(
        PromptValidationError, match=r"Broken is not bound.*made from its defaults it fails: KeyError: 'FOO'"
    ):
        render(MarkdownSection[Broken](title="T", key="t", template="$topic"))


def test_hidden_sections_need_their_params():
    hidden = MarkdownSection[Strict](title="H", key="h", template="$topic")
    for made in (
        MarkdownSection[Strict](title="T", key="t", template="$topic", summary="s", visibility="summary"),
        MarkdownSection(title="T", key="t", summary="s", visibility="summary", children=[hidden]),
    ):
        with pytest.raises(PromptValidationError, match=r"Strict is not bound, and its text needs \$topic"):
            render(made)


def test_copies_of_a_section_are_the_section():
    made = section(session=Session())
    assert copy.copy(made) is copy.deepcopy(made) is made
