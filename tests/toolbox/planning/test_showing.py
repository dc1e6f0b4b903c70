"""How a plan is shown: as a checklist in Markdown, drawn by rich in a terminal."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from tests.cases import each_case
from tests.toolbox.planning.kit import World
from toolhaft.toolbox.planning import Plan, PlanStep, SetupPlan, print_plan

PLAN = Plan(
    "Ship it",
    "active",
    (PlanStep(1, "Look", "done"), PlanStep(2, "Leap", "in_progress"), PlanStep(3, "Land")),
)
MARKDOWN = """\
**Plan:** Ship it

Status: active, 1 of 3 steps done

- [x] 1. Look
- [~] 2. Leap
- [ ] 3. Land"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn(plan, **options):
    file = io.StringIO()
    Console(file=file, force_terminal=True, width=60, **options).print(plan)
    return file.getvalue()


def test_a_plan_renders_as_a_checklist():
    assert PLAN.render() == MARKDOWN


def test_a_plan_without_steps_says_so():
    assert Plan("Ship it").render() == "**Plan:** Ship it\n\nStatus: active, no steps yet"


def test_a_model_is_shown_the_message_and_the_checklist():
    result = World().call("setup_plan", objective="Ship it", initial_steps=["Look"])
    assert result.render() == (
        "The plan is set up, with 1 step.\n\n"
        "**Plan:** Ship it\n\nStatus: active, 0 of 1 steps done\n\n- [ ] 1. Look"
    )


@each_case(
    ("title", "shown"),
    [
        ("a\nb", "a b"),
        ("a\r\n\r\n- [x] 9. b", "a - [x] 9. b"),
        ("a\u2028b\x85c\x0bd\x1ce", "a b c d e"),
        ("\x1b[2Jgone", "<U+001B>[2Jgone"),
        ("safe\u202eekaf", "safe<U+202E>ekaf"),
        ("*stars* [link](x) `code` $name <b>", "*stars* [link](x) `code` $name <b>"),
        ("\U000e0041" * 500, "<U+E0041>" * 500),
        ("👩\u200d🚀 été", "👩\u200d🚀 été"),
    ],
)
def test_a_text_is_shown_on_one_line_with_nothing_hidden(title, shown):
    plan = Plan(title, steps=(PlanStep(1, title),))
    assert plan.render().splitlines() == [
        f"**Plan:** {shown}",
        "",
        "Status: active, 0 of 1 steps done",
        "",
        f"- [ ] 1. {shown}",
    ]
    assert plan.steps[0].title == title


@given(st.lists(st.text(max_size=30).filter(str.strip), min_size=1, max_size=4), st.text(max_size=30))
def test_no_text_breaks_the_list_as_markdown_is_read(titles, objective):
    plan = Plan(objective, steps=tuple(PlanStep(number, title) for number, title in enumerate(titles, 1)))
    tokens = MarkdownIt("commonmark").parse(plan.render())
    outer = [token.type for token in tokens if token.level == 0]
    assert outer == [
        *["paragraph_open", "paragraph_close"] * 2,
        "bullet_list_open",
        "bullet_list_close",
    ]
    items = [token for token in tokens if token.type == "list_item_open"]
    assert len(items) == len(titles)


def test_rich_draws_the_plan_with_its_styles():
    text = drawn(PLAN, color_system="standard")
    assert text.splitlines() == [
        "\x1b[1mShip it\x1b[0m",
        "\x1b[36mStatus: active, 1 of 3 steps done\x1b[0m",
        "\x1b[2m[x]\x1b[0m \x1b[2m1.\x1b[0m \x1b[2mLook\x1b[0m",
        "\x1b[1;33m[~]\x1b[0m \x1b[1;33m2.\x1b[0m \x1b[1;33mLeap\x1b[0m",
        "[ ] 3. Land",
    ]
    done = Plan("Ship it", "completed", (PlanStep(1, "Look", "done"),))
    assert "\x1b[32mStatus: completed, 1 of 1 steps done\x1b[0m" in drawn(done, color_system="standard")


def test_rich_draws_texts_as_they_are():
    title = "[bold red]not bold[/] :smile: [link=x]y[/link] \x1b[31m\nend"
    lines = drawn(Plan(title, steps=(PlanStep(12, title),)), color_system=None).splitlines()
    shown = "[bold red]not bold[/] :smile: [link=x]y[/link] <U+001B>[31m end"
    assert " ".join(" ".join(lines).split()) == f"{shown} Status: active, 0 of 1 steps done [ ] 12. {shown}"


def test_a_title_that_is_longer_than_the_terminal_stays_in_its_column():
    lines = drawn(Plan("Go", steps=(PlanStep(1, "word " * 20), PlanStep(10, "x" * 100))), color_system=None)
    assert all(len(line) <= 60 for line in lines.splitlines())
    assert [line[:7] for line in lines.splitlines()[2:]] == ["[ ]  1.", " " * 7, "[ ] 10.", " " * 7]


def test_a_plan_is_drawn_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    print_plan(PLAN, terminal)
    assert "\x1b[1mShip it\x1b[0m" in terminal.getvalue()
    assert "**Plan:**" not in terminal.getvalue()


def test_a_plan_is_printed_as_markdown_elsewhere():
    file = io.StringIO()
    print_plan(PLAN, file)
    assert file.getvalue() == f"{MARKDOWN}\n"


def test_a_plan_is_printed_to_the_standard_output_by_default(capsys):
    print_plan(PLAN)
    assert capsys.readouterr().out == f"{MARKDOWN}\n"


def test_a_terminal_without_rich_gets_markdown(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.delitem(sys.modules, "toolhaft.toolbox.planning.terminal", raising=False)
    terminal = Terminal()
    print_plan(PLAN, terminal)
    assert terminal.getvalue() == f"{MARKDOWN}\n"
    with pytest.raises(ImportError, match=r"pip install 'toolhaft\[cli\]'"):
        PLAN.__rich__()


def test_what_cannot_be_shown_is_kept_as_it_is():
    world = World(SetupPlan("Go", ("a\nb\x1b",)))
    assert world.plan.steps == (PlanStep(1, "a\nb\x1b"),)


@each_case("text", ["👩\u200d🚀", "\u200bx", "a\u0301", "\u0e01\u0e33", "한", "\ue000", "."])
def test_text_with_a_visible_character_is_unchanged(text):
    assert World().call("setup_plan", objective=text).value == Plan(text)


@each_case(
    "text",
    [
        "\u200b",
        "\u200b\u200b",
        "\u00ad",
        "\ufe0f",
        "\x00",
        "\x1b\n\x7f",
        "\u202e\u202c",
        "\ufeff",
        "\u3164",
        "\u2800",
    ],
    ids=ascii,
)
def test_text_without_visible_characters_is_empty(text):
    kind, words = World().refusal("setup_plan", objective=text)
    assert (kind, words) == ("invalid_arguments", "objective is empty. Give 1 to 500 visible characters.")
