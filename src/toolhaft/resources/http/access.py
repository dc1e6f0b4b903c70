"""Decides which hosts and addresses may be reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Final

from toolhaft.errors import DefinitionError, HttpRefusedError
from toolhaft.resources.http.urls import Host, IPAddress, RequestUrl, check_characters, parse_authority

# Not `ipaddress.is_global`: its answers differ between releases of Python.
_PRIVATE_V4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a provider; one cloud has its metadata service here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # services of one cloud, inside public address space
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
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
_PUBLIC_V6: Final = IPv6Network("2000::/3")
_PRIVATE_V6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, such as tunnels to IPv4 addresses (Teredo)
        "2001:db8::/32",  # documentation
        "2002::/16",  # contains an IPv4 address
        "3fff::/20",  # documentation
    )
)
_TUNNEL_MARKS: Final = (0x0000_5EFE, 0x0200_5EFE)
"""If the third quarter of an address is one of these, the fourth is an IPv4 address (ISATAP tunnels)."""

_PUBLIC_PORTS: Final = (80, 443)
_FIRST_FREE_PORT: Final = 1_024
# Names that every network resolves differently; no public host has one.
_OWN_ENDS: Final = (".localhost", ".local", ".home.arpa")
# clouds name their metadata services below .internal
_LOCAL_ENDS: Final = (*_OWN_ENDS, ".internal")
_OWN_NETWORKS: Final = (
    *map(IPv4Network, ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    IPv6Network("::1/128"),
)
ALLOW_ADVICE: Final = "the operator can allow it with HttpClient(allow=[...])"


class HostRules:
    """Decides which hosts may be reached, by `allow` and `only`.

    Args:
        allow: hosts that may be reached although they are not public.
        only: if given, no other host may be reached; an empty list allows none.

    Raises:
        DefinitionError: for an entry that is not a host.
    """

    __slots__ = ("_allow", "_only")

    def __init__(self, allow: Sequence[str], only: Sequence[str] | None) -> None:
        self._allow = tuple(_parse_entry("allow", entry) for entry in allow)
        self._only = None if only is None else tuple(_parse_entry("only", entry) for entry in only)

    def check(self, url: RequestUrl) -> bool:
        """True if the host may have any address, False if all its addresses must be public.

        Raises:
            HttpRefusedError: if it may not be reached at all.
        """
        if self._only is not None and not any(entry.covers(url) for entry in self._only):
            raise HttpRefusedError(
                f"{url.host.display_name} (port {url.port}) is not one of the hosts that may be reached "
                "here; use one that is"
            )
        if any(entry.covers(url) for entry in self._allow):
            return True
        _check_public(url)
        return False


def is_public(address: IPAddress) -> bool:
    """True for an address of the public internet.

    IPv6 addresses that contain an IPv4 address (mapped, translated, tunnelled) are never public.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _PRIVATE_V4)
    if address not in _PUBLIC_V6 or any(address in network for network in _PRIVATE_V6):
        return False
    return (int(address) >> 32) & 0xFFFF_FFFF not in _TUNNEL_MARKS


def not_public(host: Host, addresses: Iterable[IPAddress] = ()) -> HttpRefusedError:
    """The error for a host that is not public, with the addresses of its name if they are known.

    It has advice only for the names and addresses that people give their own services: never for the metadata
    service of a cloud.
    """
    problem = f"{host.display_name} is not a public host, and only public ones may be reached"
    return HttpRefusedError(problem, advice=ALLOW_ADVICE if _may_be_own(host, tuple(addresses)) else "")


def _may_be_own(host: Host, addresses: tuple[IPAddress, ...]) -> bool:
    found = addresses if host.address is None else (host.address,)
    if found:
        return all(any(address in network for network in _OWN_NETWORKS) for address in found)
    return "." not in host.name or host.name.endswith(_OWN_ENDS)


def host_list(list_name: str, entries: Iterable[str]) -> tuple[str, ...]:
    """The entries of a list of hosts, which may be an iterator.

    Raises:
        DefinitionError: for a text, which would be read as a list of letters.
    """
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise DefinitionError(
            f"a list of hosts is expected, not {entries!r:.80}",
            place=list_name,
            fix=f'write {list_name}=["intranet.example:8080"]',
        )
    return tuple(entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HostEntry:
    """One entry of `allow` or `only`."""

    name: str
    port: int | None
    covers_subdomains: bool

    def covers(self, url: RequestUrl) -> bool:
        if self.port not in (None, url.port):
            return False
        if self.covers_subdomains:
            return url.host.address is None and url.host.name.endswith(f".{self.name}")
        return url.host.name == self.name


def _parse_entry(list_name: str, entry: str) -> _HostEntry:
    reason = _find_mistake(list_name, entry)
    if reason:
        raise _bad_entry(list_name, entry, reason)
    try:
        check_characters(entry)
        # `allow` opens private hosts, so it has no wildcards
        covers_subdomains = list_name == "only" and entry.startswith("*.")
        host, port = parse_authority(entry[2:] if covers_subdomains else entry)
    except HttpRefusedError as error:
        raise _bad_entry(list_name, entry, str(error)) from None
    if covers_subdomains and host.address is not None:
        raise _bad_entry(list_name, entry, "an address has no subdomains")
    return _HostEntry(name=host.name, port=port, covers_subdomains=covers_subdomains)


def _find_mistake(list_name: str, entry: str) -> str:
    """An obvious mistake in an entry; empty if there is none."""
    if not isinstance(entry, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        return f"it is not text, but {type(entry).__name__}"
    if not entry:
        return "it is empty"
    if "://" in entry:
        return "it is a URL; write only its host and port"
    if "/" in entry:
        return "it has a slash; networks and paths are not supported"
    if "*" in entry and list_name == "allow":
        return "private hosts are allowed one by one"
    if "*" in entry.removeprefix("*."):
        return "a star is only allowed before the first dot, such as '*.example.com'"
    return ""


def _bad_entry(list_name: str, entry: str, reason: str) -> DefinitionError:
    return DefinitionError(
        f"{entry!r:.80} is not a host: {reason}",
        place=list_name,
        fix="write 'intranet.example', 'localhost:8080', '127.0.0.1:8080' or '[::1]:8080'",
    )


def _check_public(url: RequestUrl) -> None:
    host, port = url.host, url.port
    if host.address is not None:
        if not is_public(host.address):
            raise not_public(host)
    elif "." not in host.name or host.name.endswith(_LOCAL_ENDS):
        raise not_public(host)
    if port not in _PUBLIC_PORTS and port < _FIRST_FREE_PORT:
        raise HttpRefusedError(
            f"port {port} of {host.display_name} may not be reached; "
            f"use 80, 443 or one from {_FIRST_FREE_PORT} on"
        )
