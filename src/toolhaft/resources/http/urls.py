"""Parses URLs and hosts into one canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import quote, urlencode

from toolhaft.errors import HttpRefusedError

IPAddress = IPv4Address | IPv6Address

MISSING_EXTRA: Final = "the web client needs httpcore2 and idna: pip install 'toolhaft[web]'"

_V4_FORM: Final = "an IPv4 address is written as four decimal numbers, such as 192.0.2.1"
_MAX_DISPLAYED: Final = 80
_MAX_WRITTEN: Final = 512
_MAX_HOST: Final = 253
# The standard forbids underscores in host names, but some hosts have them.
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# A last label that some resolvers read as part of an IPv4 address, in base 8, 10 or 16.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")

MAX_URL_LEN: Final = 8_192
# Not `urlsplit`, which silently drops some characters: the checked URL must be the one that is sent.
_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:\#.*)?",
    re.IGNORECASE,
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
# Control characters, white space of any script, backslashes and surrogates.
_AMBIGUOUS: Final = re.compile(r"[\x00-\x20\x7f-\x9f\s\\\ud800-\udfff]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LARGEST_PORT: Final = 65_535
_PATH_SAFE: Final = "%/:@!$&'()*+,;=~"
_QUERY_SAFE: Final = _PATH_SAFE + "?[]"
_CURRENT: Final = (".", "%2e")
_PARENT: Final = ("..", ".%2e", "%2e.", "%2e%2e")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestUrl:
    """A parsed http or https URL."""

    scheme: str
    host: Host
    port: int
    target: str = field(repr=False)
    """Path and query, encoded as in the request."""

    @property
    def authority(self) -> str:
        """The Host header: host, and port unless it is the default one."""
        is_default = self.port == _DEFAULT_PORTS[self.scheme]
        return self.host.in_url if is_default else f"{self.host.in_url}:{self.port}"

    @property
    def url(self) -> str:
        """The whole URL in canonical spelling, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host.name, self.port


def parse_url(url: str, query: Mapping[str, str] | None = None) -> RequestUrl:
    """Parse a URL, and add query parameters if there are any.

    Raises:
        HttpRefusedError: if it is not a plain http or https URL.
    """
    check_characters(url)
    match = _URL.fullmatch(url)
    scheme = match["scheme"].lower() if match else ""
    if match is None or scheme not in _DEFAULT_PORTS:
        raise HttpRefusedError("the URL must begin with http:// or https://; nothing else is fetched")
    host, port = parse_authority(match["authority"])
    target = _encode_path(match["path"]) + _encode_query(match["query"], query)
    if len(target) > MAX_URL_LEN:
        raise HttpRefusedError(f"the URL is too long: at most {MAX_URL_LEN:,} characters, encoded")
    return RequestUrl(scheme=scheme, host=host, port=port or _DEFAULT_PORTS[scheme], target=target)


def check_characters(url: str) -> None:
    """Refuse characters that two parsers of URLs could read differently.

    Raises:
        HttpRefusedError: the message names the position, not the text.
    """
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise HttpRefusedError(f"a URL is text, not {type(url).__name__}")
    if len(url) > MAX_URL_LEN:
        raise HttpRefusedError(f"the URL is too long: {len(url):,} characters, at most {MAX_URL_LEN:,}")
    found = _AMBIGUOUS.search(url)
    if found is not None:
        raise HttpRefusedError(
            f"the URL has an invalid character (U+{ord(found[0]):04X} at position {found.start()}); "
            "percent-encode it"
        )


def parse_authority(authority: str) -> tuple[Host, int | None]:
    """Parse `host`, `host:port`, `[address]` or `[address]:port`; the port may be None.

    Raises:
        HttpRefusedError: if it is anything else.
    """
    if "@" in authority:
        raise HttpRefusedError("the URL has a user or a password in it; send them in a header")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise HttpRefusedError("the host of the URL cannot be read; write it as https://example.com/path")
    host = parse_host(match["host"])
    port = match["port"]
    if not port:
        return host, None
    if not 0 < int(port[:6]) <= _LARGEST_PORT or port.startswith("0"):
        raise HttpRefusedError(f"the URL has no valid port for {host.display_name}: 1 to {_LARGEST_PORT}")
    return host, int(port)


def _encode_path(written: str) -> str:
    """Resolve dot segments and encode: the path that was checked must be the one that the server sees."""
    kept: list[str] = []
    segments = written.split("/")[1:] or [""]
    last = len(segments) - 1
    for number, segment in enumerate(segments):
        lower = segment.lower()
        if lower in _PARENT:
            del kept[-1:]
        elif lower not in _CURRENT:
            kept.append(quote(segment, safe=_PATH_SAFE))
            continue
        if number == last:
            kept.append("")
    return "/" + "/".join(kept)


def _encode_query(written: str | None, more: Mapping[str, str] | None) -> str:
    try:
        added = urlencode(more) if more else ""
    except UnicodeError:
        raise HttpRefusedError("a query parameter has characters that cannot be encoded") from None
    own = quote(written, safe=_QUERY_SAFE) if written else ""
    joined = "&".join(part for part in (own, added) if part)
    return f"?{joined}" if joined else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host in its canonical spelling."""

    name: str
    """In lower case and ASCII, without a dot at the end; an IPv6 address without brackets."""
    written: str
    """As the caller wrote it, for messages."""
    address: IPAddress | None = None
    """Set if the host is an address."""

    @property
    def in_url(self) -> str:
        """As written in a URL and in the Host header."""
        return f"[{self.name}]" if isinstance(self.address, IPv6Address) else self.name

    @property
    def display_name(self) -> str:
        """As displayed in messages."""
        return display_host(self.written)


def parse_host(written: str) -> Host:
    """Parse a host, with brackets if it is an IPv6 address.

    Raises:
        HttpRefusedError: if it is not a host, or is an address in an unusual spelling.
    """
    if not written:
        raise HttpRefusedError("the URL has no host; write it as https://example.com/path")
    if len(written) > _MAX_WRITTEN:
        raise _not_a_host(written, f"it has {len(written):,} characters, a host has at most {_MAX_HOST}")
    if written.startswith("["):
        return _parse_v6(written)
    name = written.lower() if written.isascii() else _to_ascii(written)
    whole, name = name, name.removesuffix(".")  # a dot at the end makes no difference to a name
    if len(name) > _MAX_HOST:
        raise _not_a_host(written, f"a host has at most {_MAX_HOST} characters")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _parse_v4(written, whole)
    if any(_LABEL.fullmatch(label) is None for label in labels):
        raise _not_a_host(written, "a host consists of letters, digits and hyphens between single dots")
    return Host(name=name, written=written)


def _parse_v4(written: str, name: str) -> Host:
    try:
        address = IPv4Address(name)
    except ValueError:
        raise _not_a_host(written, _V4_FORM) from None
    return Host(name=name, written=written, address=address)


def _parse_v6(written: str) -> Host:
    inside = written[1:-1]
    if not written.endswith("]") or "%" in inside:
        raise _not_a_host(
            written, "an IPv6 address is written in brackets, without a zone, such as [2001:db8::1]"
        )
    try:
        address = IPv6Address(inside)
    except ValueError:
        raise _not_a_host(written, "the brackets do not contain an IPv6 address") from None
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
        raise _not_a_host(written, "it has characters that a host name cannot have") from None
    # an address in digits of another script is an attempt to avoid a check
    if mapped.rstrip(".").rpartition(".")[2].isdigit():
        raise _not_a_host(written, _V4_FORM)
    return name


def _not_a_host(written: str, reason: str) -> HttpRefusedError:
    return HttpRefusedError(f"{display_host(written)} is not a host: {reason}")


def is_loopback(host: str) -> bool:
    """True for the name or an address of this machine; any other name could lead elsewhere."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.lower() == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback  # before Python 3.13, a mapped address counted as none


def display_host(host: str) -> str:
    """A host for messages: quoted, shortened, and without invisible characters."""
    return ascii(host if len(host) <= _MAX_DISPLAYED else f"{host[:_MAX_DISPLAYED]}...")
