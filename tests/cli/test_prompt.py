"""`prompt show`: prompts of the project's modules, and broken modules."""

import json

import pytest

from tests.cases import in_case
from tests.cli.kit import run_lk

PROMPTS = '''
"""Prompts of the tests."""
from dataclasses import dataclass

from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.toolbox import calculator


@dataclass
class Who:
    name: str


class Shelf:
    plain = Prompt(
        name="plain",
        sections=[
            MarkdownSection(title="Sums", key="sums", template="Add \\x1b[31mthem.", tools=[calculator]),
            MarkdownSection(title="More", key="more", template="Long.", summary="Short.", visibility="summary"),
        ],
    )


plain = Shelf.plain
needs = Prompt(name="needs", sections=[MarkdownSection[Who](title="Hi", key="hi", template="Hi ${name}.")])
number = 5


def made():
    return plain


def halts():
    raise KeyboardInterrupt


def fails():
    raise RuntimeError("no luck")
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "local-kit" / "tools").mkdir(parents=True)
    package = folder / "app"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "prompts.py").write_text(PROMPTS, encoding="utf-8")
    (folder / "quits.py").write_text("raise SystemExit(7)\n", encoding="utf-8")
    (folder / "halts.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    (folder / "slip.py").write_text("def f(:\n", encoding="utf-8")
    (folder / "lacks.py").write_text("x = 1\nimport nowhere_at_all\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["app.prompts:plain", "app.prompts:made", "app.prompts:Shelf.plain"])
def test_printed_text_equals_the_rendered_prompt(project, place):
    done = run_lk("prompt", "show", place, cwd=project / "app")
    assert (done.exit, "Sums" in done.out, "Add \x1b[31mthem." in done.out) == (0, True, True), done.err
    assert "Short." in done.out
    assert "tools: calculator" in done.err


def test_outline_works_without_bound_values(project):
    done = run_lk("prompt", "show", "app.prompts:needs", "--outline", cwd=project)
    assert (done.exit, done.out) == (0, "needs\n└── hi: Hi\n")


def test_json_has_text_tools_and_sections(project):
    told = json.loads(run_lk("prompt", "show", "app.prompts:plain", "--json", cwd=project).out)
    assert list(told) == ["name", "sections", "text", "tools"]
    assert [(one["key"], one["visibility"], one["tools"]) for one in told["sections"]] == [
        ("sums", "full", ["calculator"]),
        ("more", "summary", []),
    ]
    assert told["tools"][0]["name"] == "calculator"


def test_json_of_an_outline_has_no_text(project):
    told = json.loads(run_lk("prompt", "show", "app.prompts:needs", "--outline", "--json", cwd=project).out)
    assert list(told) == ["name", "sections"]


def test_unbound_prompt_error_suggests_outline(project):
    done = run_lk("prompt", "show", "app.prompts:needs", cwd=project)
    assert (done.exit, done.out) == (1, "")
    assert "Who is not bound" in done.err
    assert "lk prompt show app.prompts:needs --outline" in done.err


def test_unloadable_prompts_are_reported_without_a_traceback(project):
    cases = [
        ("app.prompts:fails", 3, "RuntimeError: no luck"),
        ("app.prompts:number", 3, "int"),
        ("app.prompts:Shelf", 3, "not a Prompt"),
        ("app.prompts:plan", 3, "'plain'"),
        ("app.nowhere:x", 3, "no module"),
        ("quits:x", 3, "SystemExit: 7"),
        ("slip:x", 3, "slip.py:1"),
        ("lacks:x", 3, "lacks.py:2"),
        ("app.prompts", 2, "MODULE:NAME"),
        (":x", 2, "MODULE:NAME"),
    ]
    for place, code, told in cases:
        with in_case(place, code, told):
            done = run_lk("prompt", "show", place, cwd=project)
            assert (done.exit, done.out) == (code, "")
            assert told in done.err
            assert "Traceback" not in done.err
            assert done.err.endswith("  try: lk prompt show --help\n")


@pytest.mark.parametrize("place", ["halts:x", "app.prompts:halts"])
def test_ctrl_c_during_import_ends_the_program(project, place):
    done = run_lk("prompt", "show", place, cwd=project)
    assert (done.exit, done.out, "Traceback" in done.err) == (130, "", False)
