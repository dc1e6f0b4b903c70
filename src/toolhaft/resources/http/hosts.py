"""Reads the host of a URL into the one spelling that it is looked up and connected to by.

Does not know which hosts may be reached, and looks nothing up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.addresses import Address

MISSING_EXTRA: Final = "the web client needs httpcore2 and idna: pip install 'toolhaft[web]'"

_V4_FORM: Final = "an IPv4 address is written as four decimal numbers, such as 192.0.2.1"
_LONGEST_SHOWN: Final = 80
_LONGEST_WRITTEN: Final = 512
_LONGEST_HOST: Final = 253
# Underscores are no host names by the letter, but there are hosts that have them.
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# A last label that some resolvers read as part of an IPv4 address, in base 8, 10 or 16.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host by its one spelling."""

    name: str
    """In lower case and ASCII; an IPv6 address stands without brackets."""
    written: str
    """As the caller has it, for messages."""
    address: Address | None = None
    """Where the host is an address itself."""

    @property
    def in_url(self) -> str:
        """As it stands in a URL and in the Host header."""
        return f"[{self.name}]" if isinstance(self.address, IPv6Address) else self.name

    @property
    def shown(self) -> str:
        """As a message shows it."""
        return shown(self.written)


def shown(host: str) -> str:
    """A host as the caller wrote it, quoted, with nothing in it that does not show."""
    return ascii(host if len(host) <= _LONGEST_SHOWN else f"{host[:_LONGEST_SHOWN]}...")


def read_host(written: str) -> Host:
    """The host that a text names, brackets included.

    Raises:
        HttpRefusedError: where it is no host, or an address in any spelling but the usual one.
    """
    if not written:
        raise HttpRefusedError("the URL has no host; write it as https://example.com/path")
    if len(written) > _LONGEST_WRITTEN:
        raise _no_host(written, f"it has {len(written):,} characters, a host has at most {_LONGEST_HOST}")
    if written.startswith("["):
        return _read_v6(written)
    name = written.lower() if written.isascii() else _to_ascii(written)
    if len(name) > _LONGEST_HOST:
        raise _no_host(written, f"a host has at most {_LONGEST_HOST} characters")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _read_v4(written, name)
    if any(_LABEL.fullmatch(label) is None for label in labels):
        raise _no_host(written, "it is not made of letters, digits and hyphens between single dots")
    return Host(name=name, written=written)


def _read_v4(written: str, name: str) -> Host:
    try:
        address = IPv4Address(name)
    except ValueError:
        raise _no_host(written, _V4_FORM) from None
    return Host(name=name, written=written, address=address)


def _read_v6(written: str) -> Host:
    inside = written[1:-1]
    if not written.endswith("]") or "%" in inside:
        raise _no_host(written, "an IPv6 address stands in brackets, without a zone, such as [2001:db8::1]")
    try:
        address = IPv6Address(inside)
    except ValueError:
        raise _no_host(written, "there is no IPv6 address in the brackets") from None
    return Host(name=str(address), written=written, address=address)


def _to_ascii(written: str) -> str:
    try:
        import idna  # noqa: PLC0415 -- few hosts need it
    except ImportError as error:
        raise ImportError(MISSING_EXTRA) from error
    try:
        mapped = idna.uts46_remap(written, std3_rules=True)
        name = idna.encode(mapped).decode("ascii")
    except UnicodeError:
        raise _no_host(written, "it has characters that no host name has") from None
    # digits of any script: who writes an address in others than the usual ones wants to get past somebody
    if mapped.rstrip(".").rpartition(".")[2].isdigit():
        raise _no_host(written, _V4_FORM)
    return name


def _no_host(written: str, reason: str) -> HttpRefusedError:
    return HttpRefusedError(f"{shown(written)} is not a host: {reason}")
