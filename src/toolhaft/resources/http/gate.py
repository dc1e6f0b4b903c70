"""Says which places may be reached, and which of them may have an address that is not public.

Looks nothing up: a name's addresses are judged when they are connected to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from toolhaft.errors import DefinitionError, HttpRefusedError
from toolhaft.resources.http.addresses import is_public
from toolhaft.resources.http.hosts import Host
from toolhaft.resources.http.places import Place, check_characters, read_authority

_PUBLIC_PORTS: Final = (80, 443)
_FIRST_FREE_PORT: Final = 1_024
# Names that mean something else on every network; no public host has one.
_LOCAL_ENDS: Final = (".localhost", ".local", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One line of a list of hosts."""

    name: str
    port: int | None
    covers_subdomains: bool

    def covers(self, place: Place) -> bool:
        if self.port not in (None, place.port):
            return False
        if self.covers_subdomains:
            return place.host.address is None and place.host.name.endswith(f".{self.name}")
        return place.host.name == self.name


class Gate:
    """The hosts that are open.

    Args:
        allow: may be reached although they are not public.
        only: nothing else may be reached; None leaves all public hosts open, an empty one leaves none.

    Raises:
        DefinitionError: for an entry that is no host.
    """

    __slots__ = ("_allow", "_only")

    def __init__(self, allow: Sequence[str], only: Sequence[str] | None) -> None:
        self._allow = tuple(_read_entry("allow", entry) for entry in allow)
        self._only = None if only is None else tuple(_read_entry("only", entry) for entry in only)

    def check(self, place: Place) -> bool:
        """True if the place may have any address, False if it must have public ones.

        Raises:
            HttpRefusedError: where it may not be reached at all.
        """
        if self._only is not None and not any(entry.covers(place) for entry in self._only):
            raise HttpRefusedError(
                f"{_with_port(place)} is not one of the hosts that may be reached here; use one that is"
            )
        if any(entry.covers(place) for entry in self._allow):
            return True
        _check_public(place)
        return False


def refuse_private(host: Host) -> HttpRefusedError:
    """A host whose address is not one of the public internet."""
    return HttpRefusedError(
        f"{host.shown} is not a public host, and only public ones may be reached; "
        "whoever runs this can open it by name with HttpClient(allow=[...])"
    )


def _check_public(place: Place) -> None:
    host, port = place.host, place.port
    if host.address is not None:
        if not is_public(host.address):
            raise refuse_private(host)
    elif "." not in host.name or host.name.endswith(_LOCAL_ENDS):
        raise refuse_private(host)
    if port not in _PUBLIC_PORTS and port < _FIRST_FREE_PORT:
        raise HttpRefusedError(
            f"port {port} of {host.shown} may not be reached; use 80, 443 or one from {_FIRST_FREE_PORT} on"
        )


def _with_port(place: Place) -> str:
    return f"{place.host.shown} (port {place.port})"


def listed(list_name: str, entries: Iterable[str]) -> tuple[str, ...]:
    """A list of hosts, taken down.

    Raises:
        DefinitionError: for a text, which would be a list of letters.
    """
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise DefinitionError(
            f"a list of hosts is wanted, not {entries!r:.80}",
            place=list_name,
            fix=f'write {list_name}=["intranet.example:8080"]',
        )
    return tuple(entries)


def _read_entry(list_name: str, entry: str) -> _Entry:
    reason = _mistake(list_name, entry)
    if reason:
        raise _no_entry(list_name, entry, reason)
    try:
        check_characters(entry)
        # an allow-list opens what is private, so it names its hosts one by one
        covers_subdomains = list_name == "only" and entry.startswith("*.")
        host, port = read_authority(entry[2:] if covers_subdomains else entry)
    except HttpRefusedError as error:
        raise _no_entry(list_name, entry, str(error)) from None
    if covers_subdomains and host.address is not None:
        raise _no_entry(list_name, entry, "an address has nothing below it")
    return _Entry(name=host.name, port=port, covers_subdomains=covers_subdomains)


def _mistake(list_name: str, entry: str) -> str:
    """What an entry is in place of a host, where that is plain to see; empty where it is not."""
    if not isinstance(entry, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        return f"it is no text, but {type(entry).__name__}"
    if not entry:
        return "it is empty"
    if "://" in entry:
        return "it is a URL, of which only the host and the port stand here"
    if "/" in entry:
        return "it has a slash, and neither a network nor a path can stand here"
    if "*" in entry and list_name == "allow":
        return "what is not public is opened host by host"
    if "*" in entry.removeprefix("*."):
        return "a star stands before a dot only, such as '*.example.com'"
    return ""


def _no_entry(list_name: str, entry: str, reason: str) -> DefinitionError:
    return DefinitionError(
        f"{entry!r:.80} names no host: {reason}",
        place=list_name,
        fix="write 'intranet.example', 'localhost:8080', '127.0.0.1:8080' or '[::1]:8080'",
    )
