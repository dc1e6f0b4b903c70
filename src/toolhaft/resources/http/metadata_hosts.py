"""Recognises hosts that lead to a machine's own network segment or to a cloud's metadata service."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from socket import inet_aton
from typing import Final
from urllib.parse import unquote

_V4: Final = tuple(
    IPv4Network(network)
    for network in ("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32")
)
"""Link-local addresses, and the metadata services that clouds have elsewhere."""
_V6: Final = tuple(IPv6Network(network) for network in ("fe80::/10", "fd00:ec2::/32", "fd20:ce::/32"))
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_NAMES: Final = frozenset(("metadata", "metadata.google.internal", "metadata.goog", "instance-data"))
_NAME_END: Final = (".metadata.google.internal", ".metadata.goog", "instance-data.ec2.internal")
_IN_NAME: Final = re.compile(r"(?:^|[.-])169[.-]254[.-]\d{1,3}[.-]\d{1,3}(?:[.-]|$)")
"""A name of a public service that resolves to the address in it."""


def is_metadata_host(written: str) -> bool:
    """True for a link-local address or a metadata service, in any spelling that some resolver accepts."""
    host = unicodedata.normalize("NFKC", unquote(written)).lower().replace("\u3002", ".")
    host = host.strip("[]").partition("%")[0].rstrip(".")
    if host in _NAMES or host.endswith(_NAME_END) or _IN_NAME.search(host):
        return True
    try:
        if ":" in host:
            return _is_metadata_v6(IPv6Address(host))
        # accepts decimal, octal, hexadecimal and shortened numbers, as most programs do
        return _is_metadata_v4(IPv4Address(inet_aton(host)))
    except (OSError, ValueError, AddressValueError):
        return False


def _is_metadata_v4(address: IPv4Address) -> bool:
    return any(address in network for network in _V4)


def _is_metadata_v6(address: IPv6Address) -> bool:
    if any(address in network for network in _V6):
        return True
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and (address in _TRANSLATED or int(address) >> 32 == 0):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    return inner is not None and _is_metadata_v4(inner)
