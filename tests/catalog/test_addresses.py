"""Two spellings of one address are one address, for whoever keeps tools and for whoever runs them."""

import pytest

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


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_address_in_two_spellings_is_the_platforms_own(one, other):
    assert normal_url(one) == normal_url(other)
    endpoint = f"{other.rstrip('/')}/v3/tool/mine"
    assert tool_id_at(one, endpoint) == "mine"
    published = PublishedStore(open_database("sqlite://"), url=one).put(
        yaml_text("mine", more=f'endpoint: "{endpoint}"\n'), OPERATOR, base=None
    )
    assert published.upstream is None


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_address_is_another_place(one, other):
    assert normal_url(one) != normal_url(other)
    endpoint = f"{other}/v3/tool/mine"
    assert tool_id_at(one, endpoint) is None


@pytest.mark.parametrize(
    "odd", ["", "http://", "mailto:x", "http://[::1", "http://a b/", "//x", "http://h:99999"]
)
def test_what_is_no_address_stays_as_it_is(odd):
    assert normal_url(odd) == odd.rstrip("/")


@pytest.mark.parametrize("rest", ["", "/", "a/b", "a?x=1", "a#x", "../tools/a"])
def test_an_address_that_names_no_tool_names_none(rest):
    assert tool_id_at("http://127.0.0.1:8420", f"http://127.0.0.1:8420/v3/tool/{rest}") is None
    assert tool_id_at("http://127.0.0.1:8420", None) is None
