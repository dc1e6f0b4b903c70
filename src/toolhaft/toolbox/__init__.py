"""Built-in tools: calculator, files, web search, Wikipedia, web pages, plans, and a search for tools."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.toolbox.calculation.tool import calculator as calculator
    from toolhaft.toolbox.encyclopaedia.tool import WikipediaConfig as WikipediaConfig
    from toolhaft.toolbox.encyclopaedia.tool import make_wikipedia as make_wikipedia
    from toolhaft.toolbox.encyclopaedia.tool import wikipedia as wikipedia
    from toolhaft.toolbox.files.info import file_info as file_info
    from toolhaft.toolbox.files.listing import list_directory as list_directory
    from toolhaft.toolbox.files.paging import file_reader as file_reader
    from toolhaft.toolbox.files.reading import read_file as read_file
    from toolhaft.toolbox.files.writing import write_file as write_file
    from toolhaft.toolbox.scraping.tool import ScraperConfig as ScraperConfig
    from toolhaft.toolbox.scraping.tool import make_web_scraper as make_web_scraper
    from toolhaft.toolbox.scraping.tool import web_scraper as web_scraper
    from toolhaft.toolbox.searching.config import SearchConfig as SearchConfig
    from toolhaft.toolbox.searching.tool import web_search as web_search
    from toolhaft.toolbox.tool_search import make_search_tools as make_search_tools
    from toolhaft.toolbox.tool_search import search_tools as search_tools

_HOMES = {
    "ScraperConfig": "scraping.tool",
    "SearchConfig": "searching.config",
    "WikipediaConfig": "encyclopaedia.tool",
    "calculator": "calculation.tool",
    "file_info": "files.info",
    "file_reader": "files.paging",
    "list_directory": "files.listing",
    "make_search_tools": "tool_search",
    "make_web_scraper": "scraping.tool",
    "make_wikipedia": "encyclopaedia.tool",
    "read_file": "files.reading",
    "search_tools": "tool_search",
    "web_scraper": "scraping.tool",
    "web_search": "searching.tool",
    "wikipedia": "encyclopaedia.tool",
    "write_file": "files.writing",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
