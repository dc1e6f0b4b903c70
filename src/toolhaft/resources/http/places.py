"""Reads a URL into the place that a request goes to: scheme, host, port, path and query.

Does not know which places may be reached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlencode

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.hosts import Host, read_host

LONGEST_URL: Final = 8_192

# Our own, since `urlsplit` drops some characters in silence: what is vetted must be what was written.
_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:\#.*)?",
    re.IGNORECASE,
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")
# Controls, white space of any script, backslashes and halves of characters.
_MISREAD: Final = re.compile(r"[\x00-\x20\x7f-\x9f\s\\\ud800-\udfff]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LARGEST_PORT: Final = 65_535
_PATH_SAFE: Final = "%/:@!$&'()*+,;=~"
_QUERY_SAFE: Final = _PATH_SAFE + "?[]"
_HERE: Final = (".", "%2e")
_ABOVE: Final = ("..", ".%2e", "%2e.", "%2e%2e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a request goes."""

    scheme: str
    host: Host
    port: int
    target: str = field(repr=False)
    """Path and query, as they stand in the request."""

    @property
    def authority(self) -> str:
        """Host, and port where it is not the usual one: the Host header."""
        is_usual = self.port == _DEFAULT_PORTS[self.scheme]
        return self.host.in_url if is_usual else f"{self.host.in_url}:{self.port}"

    @property
    def url(self) -> str:
        """The whole of it in one spelling, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Two places with the same belong to the same owner."""
        return self.scheme, self.host.name, self.port


def read_url(url: str, query: Mapping[str, str] | None = None) -> Place:
    """The place that a URL names, with more query parameters where they are given.

    Raises:
        HttpRefusedError: where it is no plain http or https URL.
    """
    check_characters(url)
    match = _URL.fullmatch(url)
    scheme = match["scheme"].lower() if match else ""
    if match is None or scheme not in _DEFAULT_PORTS:
        raise HttpRefusedError("the URL must begin with http:// or https://, and nothing else is fetched")
    host, port = read_authority(match["authority"])
    target = _path(match["path"]) + _query(match["query"], query)
    if len(target) > LONGEST_URL:
        raise HttpRefusedError(f"the URL is too long: at most {LONGEST_URL:,} characters, encoded")
    return Place(scheme=scheme, host=host, port=port or _DEFAULT_PORTS[scheme], target=target)


def check_characters(url: str) -> None:
    """Refuse what two readers of a URL could read differently.

    Raises:
        HttpRefusedError: naming the position, not the text.
    """
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise HttpRefusedError(f"a URL is text, not {type(url).__name__}")
    if len(url) > LONGEST_URL:
        raise HttpRefusedError(f"the URL is too long: {len(url):,} characters, at most {LONGEST_URL:,}")
    found = _MISREAD.search(url)
    if found is not None:
        raise HttpRefusedError(
            f"the URL has a character that no URL has (U+{ord(found[0]):04X} at position {found.start()}); "
            "percent-encode it"
        )


def read_authority(authority: str) -> tuple[Host, int | None]:
    """The host and the port, if one is said, of `host`, `host:port`, `[address]` or `[address]:port`.

    Raises:
        HttpRefusedError: where it is anything else.
    """
    if "@" in authority:
        raise HttpRefusedError("the URL has a user or a password in it; send them in a header")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise HttpRefusedError("the URL has no host that could be read; write it as https://example.com/path")
    host = read_host(match["host"])
    port = match["port"]
    if not port:
        return host, None
    if not 0 < int(port[:6]) <= _LARGEST_PORT or port.startswith("0"):
        raise HttpRefusedError(f"the URL has no valid port for {host.shown}: 1 to {_LARGEST_PORT}")
    return host, int(port)


def _path(written: str) -> str:
    """A path with no dots to climb by: what is vetted by its path must be what the server sees."""
    kept: list[str] = []
    segments = written.split("/")[1:] or [""]
    last = len(segments) - 1
    for number, segment in enumerate(segments):
        lower = segment.lower()
        if lower in _ABOVE:
            del kept[-1:]
        elif lower not in _HERE:
            kept.append(quote(segment, safe=_PATH_SAFE))
            continue
        if number == last:
            kept.append("")
    return "/" + "/".join(kept)


def _query(written: str | None, more: Mapping[str, str] | None) -> str:
    try:
        added = urlencode(more) if more else ""
    except UnicodeError:
        raise HttpRefusedError("a query parameter has characters that no text has") from None
    own = quote(written, safe=_QUERY_SAFE) if written else ""
    joined = "&".join(part for part in (own, added) if part)
    return f"?{joined}" if joined else ""
