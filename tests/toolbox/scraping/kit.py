"""Runs the scraper against servers on loopback, through the guarded client."""

from contextlib import contextmanager

from tests.resources.http.servers import serve
from toolhaft import execute_tool
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import make_web_scraper, web_scraper
from toolhaft.toolbox.scraping.readable import read_page
from toolhaft.toolbox.scraping.source import Source

HTML = {"Content-Type": "text/html; charset=utf-8"}
LONG = "This sentence is long enough to be what somebody came to the page for. " * 4
SHOWN = LONG.strip()


class Site:
    """A running server, and the tool that reads it."""

    def __init__(self, web, config=None, client=None):
        self.web = web
        self.tool = web_scraper if config is None else make_web_scraper(config)
        self.client = client or HttpClient(allow=[web.authority])

    def scrape(self, path="/", selector=None, **options):
        url = path if "://" in path else self.web.url + path
        arguments = {"url": url} if selector is None else {"url": url, "selector": selector}
        return execute_tool(self.tool, arguments, resources={HttpClient: self.client}, **options)

    @property
    def asked(self):
        """The paths that were asked for, in order."""
        return [request.path for request in self.web.requests]


@contextmanager
def site(pages, config=None):
    """A server of pages by path; text is an HTML page in UTF-8, all else is as `serve` takes it."""
    wrapped = {path: (200, HTML, page) if isinstance(page, str) else page for path, page in pages.items()}
    with serve(wrapped) as web:
        yield Site(web, config)


def scrape(page, selector=None, config=None):
    """The result for one page."""
    with site({"/": page}, config) as served:
        return served.scrape("/", selector)


def read(page, longest=100_000):
    """The readable text of a page that needs no fetching."""
    return read_page(Source(page.encode()), longest=longest).text
