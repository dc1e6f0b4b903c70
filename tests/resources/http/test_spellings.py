"""Every spelling of a private address is refused before a lookup or a connection."""

# ruff: noqa: RUF001 -- letters and digits that look like others are what is tested

import os
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.resources.http.servers import LoopbackConnector, Names
from tests.resources.http.spellings import HOSTILE, spellings_of_v4, spellings_of_v6
from toolhaft.errors import HttpError, HttpRefusedError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.access import is_public
from toolhaft.resources.http.urls import parse_host, parse_url

EXAMPLES = 1000 if os.environ.get("TOOLHAFT_LONG") else 30


class Everything(Names):
    """A resolver that finds a public address for whatever it is asked."""

    def __init__(self):
        super().__init__({})

    def __call__(self, name, port):
        self.asked.append(name)
        return ["93.184.216.34"]


def test_the_table_of_hostile_spellings_is_long_and_has_none_twice():
    assert len(HOSTILE) == len(set(HOSTILE)) > 180


@each_case("url", HOSTILE, ids=ascii)
def test_hostile_spelling_is_refused_before_anything_is_looked_up(url):
    names, connector, seen = Everything(), LoopbackConnector(), []
    with pytest.raises(HttpRefusedError) as caught:
        HttpClient(resolver=names, connector=connector).fetch(url, vet=seen.append)
    assert (names.asked, connector.connected, seen) == ([], [], [])
    told = str(caught.value)
    assert len(told) < 400
    assert told.isascii()
    assert told.isprintable()
    assert "password" not in told or "user or a password" in told


@each_case("user", ["SECRET", "SECRET:", ":SECRET", "me:SECRET", "SECRET:80", "a@SECRET", "[SECRET]"])
def test_user_and_password_are_refused_and_not_quoted(user):
    with pytest.raises(
        HttpRefusedError, match=r"^the URL has a user or a password in it; send them in a header$"
    ):
        parse_url(f"https://{user}@example.com/")


@each_case(
    ("url", "canonical"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.COM:443/A", "https://example.com/A"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:8080/?q", "http://example.com:8080/?q"),
        ("http://example.com?q=1#part", "http://example.com/?q=1"),
        ("https://münchen.example/straße?ä=ö", "https://xn--mnchen-3ya.example/stra%C3%9Fe?%C3%A4=%C3%B6"),
        ("https://straße.example/", "https://xn--strae-oqa.example/"),
        ("https://例え。テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://ExAmPlE.ｃｏｍ/", "https://example.com/"),
        (
            "https://fa.example/می\u200cخواهم",
            "https://fa.example/%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88%D8%A7%D9%87%D9%85",
        ),
        ("https://example.com./", "https://example.com/"),
        ("https://EXAMPLE.com.:443/a", "https://example.com/a"),
        ("http://example.com.:8080?q", "http://example.com:8080/?q"),
        ("https://münchen.example./", "https://xn--mnchen-3ya.example/"),
        ("https://例え。テスト。/", "https://xn--r8jz45g.xn--zckzah/"),
        (
            f"https://{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}./",
            f"https://{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 61}/",
        ),
        ("https://a_b.example/", "https://a_b.example/"),
        ("https://xn--i-7iq.example/", "https://xn--i-7iq.example/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://1password.example/", "https://1password.example/"),
        ("https://1.2.3.example/", "https://1.2.3.example/"),
        ("https://0x7f.example/", "https://0x7f.example/"),
        (
            "https://[2606:2800:0220:0001:0248:1893:25C8:1946]/",
            "https://[2606:2800:220:1:248:1893:25c8:1946]/",
        ),
        ("https://[2606:4700::]:8443/", "https://[2606:4700::]:8443/"),
        ("http://example.com/a/../b/./c/..", "http://example.com/b/"),
        ("http://example.com/../../x", "http://example.com/x"),
        ("http://example.com/a/%2e%2E/b/.%2e/c/%2e", "http://example.com/c/"),
        ("http://example.com/a//b/;x=1/@:", "http://example.com/a//b/;x=1/@:"),
        ("http://example.com/..a/a../...", "http://example.com/..a/a../..."),
        (
            'http://example.com/<"^`{|}>%zz%41?<">^`{|}[]',
            "http://example.com/%3C%22%5E%60%7B%7C%7D%3E%zz%41?%3C%22%3E%5E%60%7B%7C%7D[]",
        ),
        ("http://example.com/?a=/../b", "http://example.com/?a=/../b"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?u=http://user:pw@10.0.0.1/", "http://example.com/?u=http://user:pw@10.0.0.1/"),
    ],
)
def test_valid_url_is_normalized(url, canonical):
    assert parse_url(url).url == canonical
    assert parse_url(canonical).url == canonical


def test_a_dot_at_the_end_of_a_host_makes_no_difference_to_any_list():
    """Neither opens a host that the other closes, nor the reverse."""
    pairs = [
        ("example.com", "example.com."),
        ("example.com.", "example.com"),
        ("a.example.org", "a.example.org."),
    ]
    for entry, asked in [*pairs, ("*.example.org", "a.example.org."), ("*.example.org.", "a.example.org")]:
        names = Everything()
        client = HttpClient(resolver=names, connector=LoopbackConnector(), only=[entry])
        with pytest.raises(HttpError) as caught:
            client.fetch(f"http://{asked}/")
        assert not isinstance(caught.value, HttpRefusedError), "it may be reached, and nobody is there"
        assert names.asked == [asked.removesuffix(".")]
        with pytest.raises(HttpRefusedError):
            client.fetch("http://other.example./")
    for allowed, asked in (("intranet.local.", "intranet.local"), ("intranet.local", "intranet.local.")):
        client = HttpClient(resolver=Everything(), connector=LoopbackConnector(), allow=[allowed])
        with pytest.raises(HttpError) as caught:
            client.fetch(f"http://{asked}/")
        assert not isinstance(caught.value, HttpRefusedError)
    assert parse_url("https://example.com./a").origin == parse_url("https://example.com/b").origin


def test_query_parameters_are_encoded_and_added_to_those_of_the_url():
    assert (
        parse_url("http://a.example/p?x=1#f", {"q": "a&b=c#d ü", "y": ""}).target
        == "/p?x=1&q=a%26b%3Dc%23d+%C3%BC&y="
    )
    assert parse_url("http://a.example", {"q": "1"}).target == "/?q=1"
    assert parse_url("http://a.example", {}).target == "/"


def test_query_parameter_that_cannot_be_encoded_is_refused():
    with pytest.raises(HttpRefusedError, match="query parameter"):
        parse_url("http://a.example", {"q": "\ud800"})
    with pytest.raises(HttpRefusedError, match="too long"):
        parse_url("http://a.example", {"q": "a" * 9_000})


@pytest.mark.parametrize("url", [None, 5, b"http://example.com/", ["http://example.com/"]])
def test_url_that_is_not_text_is_refused(url):
    with pytest.raises(HttpRefusedError, match="a URL is text"):
        HttpClient().fetch(url)


CONNECTOR = LoopbackConnector()
CLIENT = HttpClient(resolver=Everything(), connector=CONNECTOR)


def tried(url):
    """The addresses that a fetch of a URL goes to; names all lead to a public address."""
    CONNECTOR.connected.clear()
    with pytest.raises(HttpError):
        CLIENT.fetch(url)
    return [address for address, _ in CONNECTOR.connected]


V4 = st.ip_addresses(v=4)  # Hypothesis favours special ranges by itself
V6 = st.ip_addresses(v=6)


@settings(deadline=None, max_examples=EXAMPLES)  # many fetches each
@given(V4, st.sampled_from(["http", "https"]))
@example(IPv4Address("127.0.0.1"), "http")
@example(IPv4Address("169.254.169.254"), "http")
@example(IPv4Address("8.8.8.8"), "http")
def test_no_spelling_of_an_ipv4_address_leads_anywhere_but_to_that_public_address(address, scheme):
    for host in spellings_of_v4(address):
        went = tried(f"{scheme}://{host}/")
        assert went in ([], [str(address)]), host
        assert not went or (is_public(address) and host == str(address))


@settings(deadline=None, max_examples=EXAMPLES)  # many fetches each
@given(V6)
@example(IPv6Address("::1"))
@example(IPv6Address("2606:4700::1111"))
def test_no_spelling_of_an_ipv6_address_leads_anywhere_but_to_that_public_address(address):
    for host in spellings_of_v6(address):
        went = tried(f"http://{host}/")
        assert went in ([], [str(address)]), host
        assert not went or is_public(address)


@settings(deadline=None, max_examples=EXAMPLES)  # a lookup is a thread
@given(st.text(max_size=40))
def test_any_text_as_host_is_an_error_or_reaches_a_public_address(text):
    assert tried(f"http://{text}/") in ([], ["93.184.216.34"])


@settings(deadline=None, max_examples=EXAMPLES)  # a lookup is a thread
@given(st.text(alphabet="0123456789xabcdef.[]:%①１。-_@/\\?#lochst", max_size=24))
def test_address_like_hosts_reach_only_public_addresses(text):
    for address in tried(f"http://{text}/"):
        assert is_public(IPv6Address(address) if ":" in address else IPv4Address(address))


@given(st.sampled_from(["", "http://", "http://a.example", "https://a.example/"]), st.text(max_size=60))
def test_any_text_as_url_is_refused_or_encoded_as_ascii(start, text):
    try:
        place = parse_url(start + text)
    except HttpRefusedError:
        return
    assert place.url.isascii()
    assert parse_url(place.url).url == place.url


def test_a_very_long_host_is_refused_before_it_is_converted(monkeypatch):
    monkeypatch.setattr("toolhaft.resources.http.urls._to_ascii", pytest.fail)
    for host in ("\u00e4" * 513, "a" * 513):
        with pytest.raises(HttpRefusedError, match="it has 513 characters, a host has at most 253"):
            parse_host(host)
