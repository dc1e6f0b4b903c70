"""The API keys that `lk login` has stored, each for the address of one platform."""

from __future__ import annotations

import re
from typing import Final

from toolhaft.define.running.user_file import UserFile
from toolhaft.errors import ConfigError, HttpRefusedError
from toolhaft.resources.http.urls import RequestUrl, is_loopback, parse_url

_FILE: Final = UserFile("keys.json")
_LEAVES: Final = re.compile(r"%2f|%5c|%25|\.\.", re.IGNORECASE)


def normal_url(url: str) -> str:
    """A URL with a lower-case scheme and host, without trailing dot, default port and trailing slash.

    A text that is not a URL keeps its spelling.
    """
    place = _parse(url)
    return url.rstrip("/") if place is None else place.url.rstrip("/")


def is_encrypted(url: str) -> bool:
    """True if nobody else can read what is sent to a URL: by https, or to this machine."""
    place = _parse(url)
    return place is not None and (place.scheme == "https" or is_loopback(place.host.name))


def is_below(url: str, address: str) -> bool:
    """True if a URL has the origin of a platform's address, and its path."""
    try:
        other, own = parse_url(url), parse_url(address)
    except HttpRefusedError:
        return False
    folder = own.target.rstrip("/")
    path = other.target.partition("?")[0]
    # some servers read an encoded slash or "..;" in other ways, and could leave the folder by it
    is_inside = not folder or (path.startswith(f"{folder}/") and not _LEAVES.search(path))
    return other.origin == own.origin and is_inside


def stored_key(url: str) -> str | None:
    """The key that is stored for an address.

    Raises:
        ConfigError: if the file of the keys cannot be used.
    """
    key = _FILE.read().get(normal_url(url))
    return key if isinstance(key, str) else None


def stored_addresses() -> list[str]:
    """The addresses that a key is stored for.

    Raises:
        ConfigError: if the file of the keys cannot be used.
    """
    return sorted(_FILE.read())


def store_key(url: str, key: str) -> str:
    """Store the key of an address; returns the address as it is stored.

    Raises:
        ConfigError: if the address is not encrypted, or the file cannot be written.
    """
    address = normal_url(url)
    check_encrypted(address, place="url")
    with _FILE.change() as keys:
        keys[address] = key
    return address


def remove_key(url: str) -> bool:
    """Remove the key of an address; False if none is stored.

    Raises:
        ConfigError: if the file cannot be written.
    """
    with _FILE.change() as keys:
        return keys.pop(normal_url(url), None) is not None


def check_encrypted(url: str, *, place: str) -> None:
    """Refuse an address to which no key may be sent.

    Raises:
        ConfigError: if anybody could read it on the way.
    """
    if not is_encrypted(url):
        raise ConfigError(
            "a key is not sent over plain http, where others can read it",
            place=place,
            fix="use https; http is only for a platform on this machine, such as http://127.0.0.1:8420",
        )


def _parse(url: str) -> RequestUrl | None:
    try:
        return parse_url(url)
    except HttpRefusedError:
        return None
