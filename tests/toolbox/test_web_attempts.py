"""Three dead links are no reason to stop: the web tools have more attempts than others."""

from toolhaft import ToolCall, ToolExecutor
from toolhaft.toolbox import SearchConfig, web_scraper, web_search, wikipedia


def test_every_web_tool_has_ten_attempts():
    made = (web_search(SearchConfig(api_key="k")), wikipedia, web_scraper)
    assert [one.max_attempts for one in made] == [10] * 3


def test_a_page_can_be_read_after_nine_dead_links():
    executor = ToolExecutor([web_scraper])
    dead = ToolCall(name="web_scraper", arguments={"url": "http://127.0.0.1/"})  # refused by the guard
    results = [executor.execute(dead) for _ in range(11)]
    assert [result.failure.kind for result in results] == ["invalid_arguments"] * 10 + ["attempts"]
    assert "This was attempt 9 of 10." in results[8].failure.advice
