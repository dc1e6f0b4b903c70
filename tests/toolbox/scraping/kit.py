"""Runs the scraper against servers on loopback, through the guarded client."""

from contextlib import contextmanager

from selectolax.lexbor import LexborHTMLParser

from tests.resources.http.servers import serve
from toolhaft import execute_tool
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import make_web_scraper, web_scraper
from toolhaft.toolbox.scraping.main_text import read_main_text
from toolhaft.toolbox.scraping.page_limits import limit_page
from toolhaft.toolbox.scraping.page_reader import PageRequest

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


def scrape_all(pages, selector=None):
    """The results for pages of one site, in their order."""
    by_path = {f"/{number}": page for number, page in enumerate(pages)}
    with site(by_path) as served:
        return [served.scrape(path, selector) for path in by_path]


def page_request(body, *, selector=None, longest=100_000):
    """What a worker is asked to read."""
    return PageRequest(body, "https://a.example/", False, selector, "readable", longest)


def tree_of(page):
    """A page as the worker parses it."""
    return LexborHTMLParser(limit_page(page.encode() if isinstance(page, str) else page))


def read(page, longest=100_000):
    """The readable text of a page that needs no fetching."""
    return read_main_text(tree_of(page), longest=longest).text
