"""Looks a host's addresses up, for no longer than there is time.

Does not know which addresses may be used.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from threading import Thread
from typing import Final

from toolhaft.errors import HttpError
from toolhaft.resources.http.addresses import Address
from toolhaft.resources.http.hosts import Host
from toolhaft.resources.http.timer import Timer
from toolhaft.resources.http.turns import Turns, domain_of

Resolver = Callable[[str, int], Sequence[str]]
"""From a host's name and a port to its addresses, as text."""

_turns: Final = Turns()


def system_resolver(name: str, port: int) -> list[str]:
    """What the operating system knows."""
    found = socket.getaddrinfo(name.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def look_up(host: Host, port: int, resolver: Resolver, timer: Timer) -> list[Address]:
    """The addresses of a host, at least one, in the resolver's order.

    Raises:
        HttpError: where there are none, or nobody says in time.
    """
    doing = f"looking up {host.shown}"
    turns, domain = _turns, domain_of(host.name)
    if not turns.take(domain, timer.left(doing)):
        raise timer.over(f"{doing}, behind {turns.in_the_way(domain)} that got no answer yet")
    answer: Future[Sequence[str]] = Future()

    def ask() -> None:
        try:
            answer.set_result(resolver(host.name, port))
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it is raised where it is waited for
            answer.set_exception(error)
        finally:
            turns.give_back(domain)

    try:
        Thread(target=ask, name="toolhaft-lookup", daemon=True).start()
    except BaseException:
        turns.give_back(domain)
        raise
    return _read(_wait(answer, host, timer, doing), host)


def _wait(answer: Future[Sequence[str]], host: Host, timer: Timer, doing: str) -> Sequence[str]:
    try:
        return answer.result(timer.left(doing))
    except (OSError, UnicodeError) as error:
        if isinstance(error, TimeoutError) and not answer.done():
            raise timer.over(doing) from None
        raise _not_found(host) from error


def _read(texts: Sequence[str], host: Host) -> list[Address]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- anybody's resolver
        raise TypeError(f"a resolver gives a list of addresses, not {type(texts).__name__}")
    try:
        addresses = [ip_address(text) for text in dict.fromkeys(map(str, texts))]
    except ValueError as error:
        raise _not_found(host) from error
    if not addresses:
        raise _not_found(host)
    return addresses


def _not_found(host: Host) -> HttpError:
    return HttpError(f"no address was found for {host.shown}; check the spelling, or try again later")
