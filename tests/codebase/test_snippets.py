"""Every Python snippet in the README and the docs runs, from the top of its page to the bottom."""

import re
import sys
import types
from textwrap import dedent

import pytest

from tests.codebase.model_server import chat_server

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>py[^\n]*)\n(?P<code>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
README_CALLS = [("price", {"item": "tea"}), ("order", {"item": "tea"}), ("order", {"item": "unicorn"})]


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        root = metafunc.config.rootpath
        found = pages(root)
        metafunc.parametrize("page", found, ids=[path.relative_to(root).as_posix() for path in found])


def snippets(text):
    """Each snippet with blank lines before it, so that a traceback shows the line of the page."""
    for fence in FENCE.finditer(text):
        yield "\n" * text.count("\n", 0, fence.start("code")) + dedent(fence["code"])


@pytest.fixture
def model(monkeypatch):
    """A model on loopback for pages that use the OpenAI client; yields the requests that it received."""
    with chat_server(README_CALLS) as (url, requests):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        yield requests


@pytest.mark.external
def test_snippets_of_a_page_run_in_order(page, model, monkeypatch, tmp_path):
    module = types.ModuleType(f"snippets_of_{page.stem.lower().replace('-', '_')}")
    # type hints are looked up in the module that a class names as its own
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    for snippet in snippets(page.read_text(encoding="utf-8")):
        exec(compile(snippet, page, "exec"), module.__dict__)  # noqa: S102 running the page is the test


@pytest.mark.external
def test_the_readme_example_prints_what_it_shows(model, monkeypatch, tmp_path, capsys, pytestconfig):
    readme = pytestconfig.rootpath / "README.md"
    test_snippets_of_a_page_run_in_order(readme, model, monkeypatch, tmp_path)
    shown = re.findall(r"^# (.+)$", "".join(snippets(readme.read_text(encoding="utf-8"))), re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == shown
    assert [sent["tools"][0]["function"]["name"] for sent in model] == ["price"]


def test_the_readme_fits_on_a_screen_and_a_half(pytestconfig):
    assert len((pytestconfig.rootpath / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_no_snippet_asks_not_to_be_run(page):
    infos = [fence["info"] for fence in FENCE.finditer(page.read_text(encoding="utf-8"))]
    assert infos == ["python"] * len(infos)


def test_snippets_are_found_where_they_are():
    text = "words\n```python\na = 1\n```\n```json\n{}\n```\n- item\n  ```python\n  b = 2\n  ```\n"
    assert list(snippets(text)) == ["\n\na = 1\n", "\n" * 9 + "b = 2\n"]
