"""robots.txt is honoured as RFC 9309 says, for every site on the way, and cached for an hour."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resources.http.servers import scripted, serve
from tests.toolbox.scraping.kit import Site, site
from toolhaft.errors import ToolExecutionError
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox import ScraperConfig
from toolhaft.toolbox.scraping.robots import MAX_CACHED, Robots, rules_for

pytestmark = pytest.mark.external

PAGE = "<title>t</title><p>text</p>"
OWN = "acme-bot/2.1 (+https://acme.example)"

# robots.txt, user agent of the config, path, whether it may be fetched
RULES = [
    ("", None, "/a", True),
    ("User-agent: *\nDisallow: /", None, "/a", False),
    ("User-agent: *\nDisallow:", None, "/a", True),
    ("User-agent: *\nDisallow: /private\n", None, "/public", True),
    ("User-agent: *\nDisallow: /private\n", None, "/private/x", False),
    ("User-agent: *\nDisallow: /private\nAllow: /private/open", None, "/private/open/x", True),
    ("User-agent: *\nAllow: /\nDisallow: /a", None, "/a", False),
    ("User-agent: *\nDisallow: /*.php$", None, "/x/y.php", False),
    ("User-agent: *\nDisallow: /*.php$", None, "/x/y.php?z", True),
    ("User-agent: *\nDisallow: /a%3Cb", None, "/a%3cb", False),
    ("user-agent:*\ndisallow:/a # not this\n", None, "/a", False),
    ("User-agent: toolhaft\nDisallow: /\n\nUser-agent: *\nAllow: /", None, "/a", False),
    ("User-agent: ToolHaft/1.0\nDisallow: /", None, "/a", False),
    ("User-agent: toolhaft\nDisallow:\n\nUser-agent: *\nDisallow: /", None, "/a", True),
    ("User-agent: tool\nDisallow: /", None, "/a", True),
    ("User-agent: otherbot\nDisallow: /", None, "/a", True),
    ("User-agent: otherbot\nUser-agent: toolhaft\nDisallow: /a", None, "/a", False),
    (
        "User-agent: toolhaft\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: toolhaft\nDisallow: /c",
        None,
        "/c",
        False,
    ),
    ("User-agent: toolhaft\nDisallow: /a\nUser-agent: x\nDisallow: /b", None, "/b", True),
    ("User-agent: acme-bot\nDisallow: /", OWN, "/a", False),
    ("User-agent: acme-bot\nDisallow: /", None, "/a", True),
    ("User-agent: toolhaft\nDisallow: /", OWN, "/a", False),
    ("User-agent: *\nCrawl-delay: 3600\nSitemap: https://x.example/s.xml\nDisallow: /a", None, "/b", True),
    ("Disallow: /", None, "/a", True),
    ("\ufeffUser-agent: *\r\nDisallow: /\r\n", None, "/a", False),
    ("<!doctype html><title>Not found</title><p>Disallow: /", None, "/a", True),
    ("User-agent: *\nDisallow: /robots.txt\nDisallow: /b", None, "/a", True),
]


def test_rules_are_obeyed():
    answer = {}
    pages = {
        "/robots.txt": lambda _: (200, {"Content-Type": "text/plain"}, answer["robots"]),
        None: (200, {}, PAGE),
    }
    for answer["robots"], user_agent, path, may in RULES:
        with site(pages, ScraperConfig(user_agent=user_agent)) as served:
            result = served.scrape(path)
        assert result.success is may, answer
        assert len(served.asked) == 1 + may, answer
        if not may:
            refusal = f"robots.txt of {served.web.authority} does not allow toolhaft to fetch"
            assert refusal in result.message, answer


def test_status_of_robots_decides():
    for status in (204, 400, 401, 403, 404, 410, 429, 500, 503):
        headers = {"Content-Length": None} if status == 204 else {}
        with site({"/robots.txt": (status, headers, ""), "/": PAGE}, ScraperConfig()) as served:
            result = served.scrape("/")
        assert result.success is (status < 500), status
        if status >= 500:
            refusal = f"could not be fetched (HTTP {status}), so the page is not fetched"
            assert refusal in result.message, status


def test_unreachable_robots_txt_disallows_the_site():
    with scripted(b"") as web:
        result = Site(web, ScraperConfig()).scrape("/")
    assert "could not be fetched, so the page is not fetched" in result.message
    assert len(web.requests) == 1


def test_robots_can_be_switched_off():
    with site(
        {"/robots.txt": (200, {}, "User-agent: *\nDisallow: /"), "/": PAGE}, ScraperConfig(robots=False)
    ) as served:
        assert served.scrape("/").success
    assert served.asked == ["/"]


def test_redirect_of_robots_is_followed():
    moved = {
        "/robots.txt": (301, {"Location": "/other.txt"}, ""),
        "/other.txt": (200, {}, "User-agent: *\nDisallow: /x"),
    }
    with site({**moved, "/x": PAGE, "/y": PAGE}, ScraperConfig()) as served:
        assert not served.scrape("/x").success
        assert served.scrape("/y").success


def test_robots_txt_of_every_redirect_is_checked():
    with serve(
        {"/robots.txt": (200, {}, "User-agent: *\nDisallow: /closed"), None: (200, {}, PAGE)}
    ) as second:
        pages = {
            "/a": (302, {"Location": second.url + "/open"}, ""),
            "/b": (302, {"Location": second.url + "/closed"}, ""),
        }
        with site(pages) as first:
            first.client = HttpClient(allow=[first.web.authority, second.authority])
            assert first.scrape("/a").success
            result = first.scrape("/b")
    assert f"robots.txt of {second.authority} does not allow" in result.message
    assert first.asked == ["/robots.txt", "/a", "/b"]
    assert [request.path for request in second.requests] == ["/robots.txt", "/open"]


def test_only_the_first_500_kib_count():
    filler = "# nothing\n" * (500 * 1024 // 10)
    pages = {None: (200, {}, PAGE)}
    late = {**pages, "/robots.txt": (200, {}, f"{filler}User-agent: *\nDisallow: /")}
    early = {**pages, "/robots.txt": (200, {}, f"User-agent: *\nDisallow: /\n{filler}")}
    with site(late, ScraperConfig()) as served:
        assert served.scrape("/").success
    with site(early, ScraperConfig()) as served:
        assert not served.scrape("/").success


def test_too_large_robots_txt_disallows_the_site():
    with site({"/robots.txt": (200, {}, "#" * 3_000_000), "/": PAGE}, ScraperConfig()) as served:
        assert "too large" in served.scrape("/").message


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def asked(served, robots, path="/", client=None):
    """How often the site was asked for its robots.txt once a path was checked."""
    robots.check(served.web.url + path, client or served.client, headers={}, deadline=None)
    return served.asked.count("/robots.txt")


def test_robots_txt_is_cached_for_an_hour():
    clock = Clock()
    robots = Robots(clock=clock)
    with site({}) as served:
        assert asked(served, robots) == 1
        clock.now = 3599
        assert asked(served, robots, "/other") == 1
        clock.now = 3601
        assert asked(served, robots) == 2


def test_failure_is_not_cached():
    answers = iter([(503, {}, ""), (200, {}, "")])
    with site({"/robots.txt": lambda _: next(answers)}) as served:
        robots = Robots()
        with pytest.raises(ToolExecutionError):
            asked(served, robots)
        assert asked(served, robots) == 2


def test_clients_do_not_share_cached_rules():
    robots = Robots()
    with site({}) as served:
        assert asked(served, robots) == 1
        assert asked(served, robots, client=HttpClient(allow=[served.web.authority])) == 2


def test_large_robots_txt_is_obeyed_but_not_cached():
    rules = "User-agent: *\n" + "".join(f"Disallow: /{number}/\n" for number in range(5_000))
    with site({"/robots.txt": (200, {}, rules)}) as served:
        robots = Robots()
        assert asked(served, robots) == 1
        assert asked(served, robots) == 2
        with pytest.raises(ToolExecutionError):
            asked(served, robots, "/77/x")


def test_cache_drops_the_oldest_entry():
    robots = Robots()
    with site({}) as served:
        clients = [HttpClient(allow=[served.web.authority]) for _ in range(MAX_CACHED + 1)]
        for client in clients:
            asked(served, robots, client=client)
        count = asked(served, robots, client=clients[1])
        assert count == MAX_CACHED + 1
        assert asked(served, robots, client=clients[0]) == count + 1


def test_threads_share_it():
    robots = Robots()
    with site({"/robots.txt": (200, {}, "User-agent: *\nDisallow: /no")}) as served:
        refused = []

        def check():
            for _ in range(20):
                asked(served, robots, "/yes")
                with pytest.raises(ToolExecutionError):
                    asked(served, robots, "/no")
                refused.append(1)

        threads = [threading.Thread(target=check) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refused) == 160


HOSTILE = {
    "many agents": "".join(f"User-agent: bot{number}\n" for number in range(15_000))
    + "Disallow: /x\n" * 15_000,
    "many stars": "User-agent: *\n" + "".join(f"Disallow: /{'*a' * 40}{number}\n" for number in range(4_000)),
    "one long rule": "User-agent: *\nDisallow: " + "*a" * 200_000,
    "one agent often": "User-agent: toolhaft\n" * 20_000 + "Allow: /$\n" * 20_000,
    "broken escapes": "User-agent: *\n" + "Disallow: /%" * 40_000,
}


def test_hostile_rules_are_obeyed_all_the_same():
    answer = {}
    pages = {"/robots.txt": lambda _: (200, {}, answer["robots"][:500_000]), None: (200, {}, PAGE)}
    for name, answer["robots"] in HOSTILE.items():
        with site(pages, ScraperConfig()) as served:
            assert served.scrape("/" + "a" * 2_000).success, name


@given(st.text(max_size=500))
def test_any_text_gives_one_group_of_rules(text):
    first, *rules = rules_for(("toolhaft",), text).split("\n")
    assert first == "User-agent: *"
    assert all(rule.startswith(("allow: ", "disallow: ")) for rule in rules)
