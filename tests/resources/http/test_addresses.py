"""Which addresses are public: by the registries of special ranges, not by the tables of a Python release."""

import os
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.resources.http.spellings import embeddings_of_v4
from toolhaft.resources.http.access import is_public
from toolhaft.resources.http.urls import is_loopback

CLOSED = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
    "::/3",  # loopback, mapped, compatible, translated
    "::1/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    "4000::/2",
    "5f00::/16",
    "8000::/1",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
]


@each_case("network", CLOSED)
def test_first_and_last_address_of_a_private_range_are_private(network):
    first, last = ip_network(network)[0], ip_network(network)[-1]
    assert (is_public(first), is_public(last)) == (False, False)


@each_case(
    "address",
    [
        "1.0.0.0",
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db9::",
        "2001:4860:4860::8888",
        "2003::",
        "2606:4700:4700::1111",
        "2a00:1450::",
        "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "3fff:1000::",
    ],
)
def test_addresses_next_to_a_private_range_are_public(address):
    assert is_public(ip_address(address))


@given(st.ip_addresses())
@settings(max_examples=5000 if os.environ.get("TOOLHAFT_LONG") else 100)
def test_addresses_that_python_calls_not_global_are_not_public(address):
    assert address.is_global or not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_that_holds_an_ipv4_address_is_never_public(address):
    assert [text for text in embeddings_of_v4(address) if is_public(IPv6Address(text))] == []


@given(st.integers(0, 2**32 - 1))
def test_every_ipv4_address_is_either_in_the_table_or_public(number):
    address = IPv4Address(number)
    in_table = any(address in ip_network(network) for network in CLOSED if "." in network)
    assert is_public(address) is not in_table


def test_an_address_with_a_zone_is_judged_by_the_address():
    assert not is_public(IPv6Address("fe80::1%eth0"))


def test_loopback_hosts_are_recognised_by_name_or_address():
    here = ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LocalHost")
    elsewhere = ("127.0.0.1.example.com", "localhost.example.com", "a.localhost", "10.0.0.1", "[fe80::1]", "")
    assert {host: is_loopback(host) for host in (*here, *elsewhere)} == {
        **dict.fromkeys(here, True),
        **dict.fromkeys(elsewhere, False),
    }
