"""Looks up a host and opens a socket to an address that was checked."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from threading import Condition, Thread
from typing import Final

from toolhaft.errors import HttpError
from toolhaft.resources.http.access import IPAddress, is_public, not_public
from toolhaft.resources.http.request import FetchTimer
from toolhaft.resources.http.urls import Host, RequestUrl

MAX_LOOKUPS: Final = 256
"""Concurrent lookups in the whole process; each has a thread."""
MAX_PER_DOMAIN: Final = 8
"""Concurrent lookups below one domain, so that a dead name server delays only its own names."""
_COUNTRY_LENGTH: Final = 2
_REGISTRY_LABELS: Final = frozenset(
    (
        "ac",
        "co",
        "com",
        "edu",
        "go",
        "gob",
        "gouv",
        "gov",
        "ltd",
        "mil",
        "ne",
        "net",
        "or",
        "org",
        "plc",
        "sch",
    )
)
"""Second-level labels below country domains that registries own, as in co.uk."""

Resolver = Callable[[str, int], Sequence[str]]
"""Takes a host name and a port, returns addresses as text."""
Connector = Callable[[str, int, float], socket.socket]
"""Takes an address, a port and a timeout in seconds, returns a connected socket."""
_MAX_ADDRESSES: Final = 8


def connect(
    url: RequestUrl, *, is_open: bool, resolver: Resolver, connector: Connector, timer: FetchTimer
) -> socket.socket:
    """A socket connected to the host of a URL; all its addresses must be public unless `is_open`.

    Raises:
        HttpRefusedError: if any address is not public, even if others are.
        HttpError: if there is no address, or no address accepts the connection.
    """
    literal = url.host.address
    addresses = [literal] if literal is not None else look_up(url.host, url.port, resolver, timer)
    if not is_open and not all(map(is_public, addresses)):
        raise not_public(url.host, addresses)
    return _connect_first(url, addresses[:_MAX_ADDRESSES], connector, timer)


def open_socket(address: str, port: int, timeout_s: float) -> socket.socket:
    """A socket connected to an IP address."""
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


def _connect_first(
    url: RequestUrl, addresses: Sequence[IPAddress], connector: Connector, timer: FetchTimer
) -> socket.socket:
    """Connect to the first address that accepts; each gets an equal share of the remaining time."""
    doing = f"connecting to {url.host.display_name}"
    failure: OSError | None = None
    for number, address in enumerate(addresses):
        share_s = timer.left(doing) / (len(addresses) - number)
        try:
            return connector(str(address), url.port, share_s)
        except OSError as error:
            failure = error
    timer.left(doing)  # reports a timeout if all the shares are used up
    if isinstance(failure, ConnectionRefusedError):
        raise HttpError(f"{url.host.display_name} refuses connections on port {url.port}") from failure
    raise HttpError(f"could not connect to {url.host.display_name} on port {url.port}") from failure


def look_up(host: Host, port: int, resolver: Resolver, timer: FetchTimer) -> list[IPAddress]:
    """The addresses of a host, at least one, in the order of the resolver.

    Raises:
        HttpError: if there are none, or the lookup takes too long.
    """
    doing = f"looking up {host.display_name}"
    limiter, domain = _limiter, registered_domain(host.name)
    if not limiter.acquire(domain, timer.left(doing)):
        raise timer.over(f"{doing}, behind {limiter.blocking(domain)} that are not finished")
    result: Future[Sequence[str]] = Future()

    def run() -> None:
        try:
            result.set_result(resolver(host.name, port))
        except BaseException as error:  # noqa: BLE001 -- raised in the waiting thread
            result.set_exception(error)
        finally:
            limiter.release(domain)

    try:
        Thread(target=run, name="toolhaft-lookup", daemon=True).start()
    except BaseException:
        limiter.release(domain)
        raise
    return _parse_addresses(_wait(result, host, timer, doing), host)


def system_resolver(name: str, port: int) -> list[str]:
    """Look up a host name with the operating system."""
    found = socket.getaddrinfo(name.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _wait(result: Future[Sequence[str]], host: Host, timer: FetchTimer, doing: str) -> Sequence[str]:
    try:
        return result.result(timer.left(doing))
    except (OSError, UnicodeError) as error:
        if isinstance(error, TimeoutError) and not result.done():
            raise timer.over(doing) from None
        raise _not_found(host) from error


def _parse_addresses(texts: Sequence[str], host: Host) -> list[IPAddress]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(f"a resolver returns a list of addresses, not {type(texts).__name__}")
    try:
        addresses = [ip_address(text) for text in dict.fromkeys(map(str, texts))]
    except ValueError as error:
        raise _not_found(host) from error
    if not addresses:
        raise _not_found(host)
    return addresses


def _not_found(host: Host) -> HttpError:
    return HttpError(f"no address was found for {host.display_name}; check the spelling, or try again later")


def registered_domain(name: str) -> str:
    """The domain that one owner has registered, judged by the labels alone."""
    labels = name.split(".")
    # many countries register names below a second label, as in co.uk, com.au and or.jp
    is_shared = len(labels) > 1 and len(labels[-1]) == _COUNTRY_LENGTH and labels[-2] in _REGISTRY_LABELS
    return ".".join(labels[-3 if is_shared else -2 :])


class LookupLimiter:
    """Limits how many lookups run at the same time.

    A lookup cannot be interrupted: after its caller has timed out it still occupies a thread, so it counts
    until it ends. Otherwise a dead name server could fill the process with threads.
    """

    __slots__ = ("_changed", "_running", "max_lookups", "max_per_domain")

    def __init__(self, max_lookups: int = MAX_LOOKUPS, max_per_domain: int = MAX_PER_DOMAIN) -> None:
        self.max_lookups = max_lookups
        self.max_per_domain = max_per_domain
        self._running: Counter[str] = Counter()
        self._changed = Condition()

    def acquire(self, domain: str, timeout_s: float) -> bool:
        """Wait for permission to look up a name below a domain; False if that took too long."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(domain), timeout_s):
                return False
            self._running[domain] += 1
            return True

    def release(self, domain: str) -> None:
        """Count a lookup as ended."""
        with self._changed:
            self._running[domain] -= 1
            if not self._running[domain]:
                del self._running[domain]
            self._changed.notify_all()

    def blocking(self, domain: str) -> str:
        """The lookups that a domain has to wait for, for messages."""
        with self._changed:
            if self._running[domain] >= self.max_per_domain:
                return f"{self.max_per_domain} others of {domain!a}"
        return f"{self.max_lookups} others"

    def _has_room(self, domain: str) -> bool:
        return self._running[domain] < self.max_per_domain and self._running.total() < self.max_lookups


_limiter: Final = LookupLimiter()
