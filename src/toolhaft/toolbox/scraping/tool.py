"""The tool `web_scraper`: the text and the title of a web page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool
from toolhaft.define.config import ToolConfig, create_tool
from toolhaft.errors import DefinitionError, ToolExecutionError
from toolhaft.toolbox.scraping.config import ScraperConfig

__all__ = ["ScraperConfig", "make_web_scraper", "web_scraper"]

TIMEOUT_S: Final = 15.0
_EXAMPLES: Final = (
    ToolExample(
        description="Read the text of a page",
        input={"url": "https://measures.example/metre"},
        output={"text": "The metre is a unit of length.", "title": "Metre"},
    ),
    ToolExample(
        description="Read the elements that a selector matches",
        input={"url": "https://measures.example/metre", "selector": "main h2, main li"},
        output={"text": "History\n\nThe first metre\n\nThe metre today", "title": "Metre"},
    ),
)


def make_web_scraper(config: ScraperConfig | None = None) -> Tool[dict[str, object], object]:
    """A tool that reads web pages, with options.

    Raises:
        DefinitionError: if the package of the extractor is not installed, or the name is not valid.
    """
    chosen = ScraperConfig() if config is None else config
    if chosen.extractor == "trafilatura" and find_spec("trafilatura") is None:
        raise DefinitionError(
            "the extractor 'trafilatura' needs a package that is missing",
            tool=chosen.name,
            place="extractor",
            fix="pip install 'toolhaft[readable]'",
        )

    @cache
    def scraper() -> Callable[[str, str | None, ToolContext], ToolResult[dict[str, object]]]:
        from toolhaft.toolbox.scraping.scraper import Scraper  # noqa: PLC0415 -- its packages may be missing

        return Scraper(chosen).scrape

    def scrape(input: dict[str, object], context: ToolContext) -> ToolResult[dict[str, object]]:
        try:
            return scraper()(cast("str", input["url"]), cast("str | None", input.get("selector")), context)
        except ImportError as error:
            raise ToolExecutionError(str(error)) from error

    return create_tool(
        ToolConfig(
            name=chosen.name,
            title="Web page",
            description="Fetch a web page and extract its readable text and its title.",
            when_to_use="To read a page whose address is known. With a CSS selector, only what that matches.",
            input_schema={
                "type": "object",
                "properties": {
                    "url": {"type": "string", "format": "uri"},
                    "selector": {"type": "string", "description": "CSS selector (optional)"},
                },
                "required": ["url"],
            },
            output_schema={
                "type": "object",
                "properties": {"text": {"type": "string"}, "title": {"type": "string"}},
            },
            execute=scrape,
            effect=Effect.READ,
            timeout_s=TIMEOUT_S,
            max_attempts=10,  # three dead links are no reason to stop
            tags=("web",),
            examples=_EXAMPLES,
        )
    )


web_scraper: Final = make_web_scraper()
