"""Platform URLs are recognised in every spelling."""

from tests.cases import in_case
from tests.catalog.kit import OPERATOR, yaml_text
from toolhaft.catalog.addresses import normal_url, tool_id_at
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.storage import open_database

SAME = [
    ("http://127.0.0.1:8420", "HTTP://127.0.0.1:8420"),
    ("https://tools.example.com", "https://Tools.Example.COM"),
    ("https://tools.example.com", "https://tools.example.com.:443"),
    ("https://tools.example.com:443", "https://tools.example.com"),
    ("http://tools.example.com./", "http://tools.example.com:80"),
    ("http://[::1]:8420", "http://[0:0:0:0:0:0:0:1]:8420"),
    ("https://tools.example.com/base", "https://TOOLS.example.com/base/"),
]
OTHER = [
    ("http://127.0.0.1:8420", "https://127.0.0.1:8420"),
    ("http://127.0.0.1:8420", "http://127.0.0.1:8421"),
    ("http://127.0.0.1:8420", "http://127.0.0.1:84200"),
    ("https://tools.example.com", "https://tools.example.com.evil.example"),
    ("https://tools.example.com", "https://tools.example.com@evil.example"),
    ("https://tools.example.com/base", "https://tools.example.com/Base"),
    ("https://tools.example.com", "https://tools.example.com.."),
]


def test_platform_url_is_recognised_in_every_spelling():
    for one, other in SAME:
        with in_case(one, other):
            assert normal_url(one) == normal_url(other)
            endpoint = f"{other.rstrip('/')}/v3/tool/mine"
            assert tool_id_at(one, endpoint) == "mine"
            published = PublishedStore(open_database("sqlite://"), url=one).put(
                yaml_text("mine", more=f'endpoint: "{endpoint}"\n'), OPERATOR, base=None
            )
            assert published.upstream is None


def test_other_urls_are_not_on_the_platform():
    for one, other in OTHER:
        with in_case(one, other):
            assert normal_url(one) != normal_url(other)
            endpoint = f"{other}/v3/tool/mine"
            assert tool_id_at(one, endpoint) is None


def test_text_that_is_not_a_url_stays_unchanged():
    cases = ["", "http://", "mailto:x", "http://[::1", "http://a b/", "//x", "http://h:99999"]
    for odd in cases:
        with in_case(odd):
            assert normal_url(odd) == odd.rstrip("/")


def test_url_without_a_tool_has_no_id():
    for rest in ["", "/", "a/b", "a?x=1", "a#x", "../tools/a"]:
        with in_case(rest):
            assert tool_id_at("http://127.0.0.1:8420", f"http://127.0.0.1:8420/v3/tool/{rest}") is None
            assert tool_id_at("http://127.0.0.1:8420", None) is None
