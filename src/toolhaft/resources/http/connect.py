"""Opens a socket to exactly the address that was vetted, the moment after it was vetted.

Does not know what is said over it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Final

from toolhaft.errors import HttpError
from toolhaft.resources.http.addresses import Address, is_public
from toolhaft.resources.http.gate import refuse_private
from toolhaft.resources.http.lookup import Resolver, look_up
from toolhaft.resources.http.places import Place
from toolhaft.resources.http.timer import Timer

Connector = Callable[[str, int, float], socket.socket]
"""From an address, a port and seconds to a connected socket."""

_MOST_TRIED: Final = 8


def open_socket(address: str, port: int, timeout_s: float) -> socket.socket:
    """A connected socket; the address is one, so nothing is looked up."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.settimeout(timeout_s)
        opened.connect((address, port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return opened


def connect(
    place: Place, *, is_open: bool, resolver: Resolver, connector: Connector, timer: Timer
) -> socket.socket:
    """A socket to one of a place's addresses, each of which is public unless the place is open.

    Raises:
        HttpRefusedError: where any address is not public: who mixes them means no good.
        HttpError: where there is no address, or none of them answers.
    """
    literal = place.host.address
    addresses = [literal] if literal is not None else look_up(place.host, place.port, resolver, timer)
    if not is_open and not all(map(is_public, addresses)):
        raise refuse_private(place.host)
    return _first(place, addresses[:_MOST_TRIED], connector, timer)


def _first(place: Place, addresses: Sequence[Address], connector: Connector, timer: Timer) -> socket.socket:
    """The first that answers; each gets its share of what time is left."""
    doing = f"connecting to {place.host.shown}"
    failure: OSError | None = None
    for number, address in enumerate(addresses):
        share_s = timer.left(doing) / (len(addresses) - number)
        try:
            return connector(str(address), place.port, share_s)
        except OSError as error:
            failure = error
    timer.left(doing)  # where all the shares are used up, that is what to tell
    if isinstance(failure, ConnectionRefusedError):
        raise HttpError(f"{place.host.shown} takes no connections on port {place.port}") from failure
    raise HttpError(f"could not connect to {place.host.shown} on port {place.port}") from failure
