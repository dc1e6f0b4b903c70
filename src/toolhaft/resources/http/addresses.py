"""Which addresses belong to the public internet, by a table of our own.

Knows no names and no sockets.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

Address = IPv4Address | IPv6Address

# Not `ipaddress.is_global`: what that says has changed with releases of Python.
_CLOSED_V4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a provider's customers; a cloud has its metadata here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own services, in the middle of public space
        "169.254.0.0/16",  # link-local, and the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays from IPv6 to IPv4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_OPEN_V6: Final = IPv6Network("2000::/3")
_CLOSED_V6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: tunnels to IPv4 addresses, hashes that are no addresses
        "2001:db8::/32",  # documentation
        "2002::/16",  # an IPv4 address inside
        "3fff::/20",  # documentation
    )
)
_TUNNEL_MARKS: Final = (0x0000_5EFE, 0x0200_5EFE)
"""In the third quarter of an address: the fourth is an IPv4 address inside a site."""


def is_public(address: Address) -> bool:
    """True for an address that anybody on the internet may be sent to.

    Whatever embeds an IPv4 address (mapped, compatible, translated, tunnelled) is not, whichever it embeds.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address not in _OPEN_V6 or any(address in network for network in _CLOSED_V6):
        return False
    return (int(address) >> 32) & 0xFFFF_FFFF not in _TUNNEL_MARKS
