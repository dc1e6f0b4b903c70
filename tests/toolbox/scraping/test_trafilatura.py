"""trafilatura is an optional extractor, imported only if it is chosen."""

import subprocess
import sys

import pytest

from tests.toolbox.scraping.kit import scrape
from tests.toolbox.scraping.pages import NEWS
from toolhaft.errors import DefinitionError, ToolExecutionError
from toolhaft.toolbox import ScraperConfig, make_web_scraper
from toolhaft.toolbox.scraping.page_reader import extract_with_trafilatura

pytestmark = pytest.mark.external

CHOSEN = ScraperConfig(extractor="trafilatura")


def test_text_is_found_by_trafilatura():
    result = scrape(NEWS, config=CHOSEN)
    assert "The new bridge across the old harbour carried its first bus on Friday" in result.value["text"]
    assert "We use cookies" not in result.value["text"]
    assert result.value["title"] == "Harbour bridge opens a year early | The Quay Courier"
    assert result.untrusted


def test_selectors_do_not_need_trafilatura():
    assert scrape(NEWS, "h1", config=CHOSEN).value["text"] == "Harbour bridge opens a year early"


def test_nothing_found_is_told():
    assert "no text that could be read" in scrape("<p></p>", config=CHOSEN).message


def test_its_failures_are_told(monkeypatch):
    def fail(*_, **__):
        raise RecursionError("too deep")

    monkeypatch.setattr("trafilatura.extract", fail)
    with pytest.raises(ToolExecutionError, match=r"trafilatura could not read the page \(RecursionError\)"):
        extract_with_trafilatura(b"<p>x")


def test_missing_package_is_named_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(DefinitionError, match=r"pip install 'toolhaft\[readable\]'"):
        make_web_scraper(CHOSEN)


def test_it_is_imported_only_where_it_is_chosen():
    script = "import sys, toolhaft.toolbox.scraping.scraper; print('trafilatura' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == "False"
