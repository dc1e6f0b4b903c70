"""Every relative link and every source file that a page names exists; a link to a heading, too."""

import re

import pytest

LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")
SOURCE = re.compile(r"`([\w/]+/\w+\.py)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def anchors(text):
    """Return the anchors of a page's headings, made the way that code hosts make them."""
    found = HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken_links(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            yield f"{path}#{anchor}" if anchor else path


@pytest.fixture
def pages(pytestconfig):
    root = pytestconfig.rootpath
    return [*root.glob("*.md"), *(root / "docs").rglob("*.md")]


def test_every_relative_link_leads_somewhere(pages, pytestconfig):
    root = pytestconfig.rootpath
    broken = {page.relative_to(root).as_posix(): list(broken_links(page)) for page in pages}
    assert {page: links for page, links in broken.items() if links} == {}


def test_every_source_file_that_a_page_names_exists(pages, pytestconfig):
    root = pytestconfig.rootpath
    files = [
        f"/{path.relative_to(root).as_posix()}"
        for folder in ("src", "tests", "benchmarks")
        for path in (root / folder).rglob("*.py")
    ]
    named = {name for page in pages for name in SOURCE.findall(page.read_text(encoding="utf-8"))}
    assert [name for name in named if not any(file.endswith(f"/{name}") for file in files)] == []
    assert "formats/registry.py" in named


def test_links_to_missing_files_and_headings_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One two\n[a](#one-two) [b](#three) [c](gone.md) [d](page.md#one-two) [e](https://x.org/y)\n"
    )
    assert list(broken_links(page)) == ["#three", "gone.md"]
