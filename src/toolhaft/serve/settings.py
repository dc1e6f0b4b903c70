"""What an operator decides about a platform, checked before anything is opened.

Knows no server and no database.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Literal
from urllib.parse import urlsplit

from toolhaft.errors import ConfigError

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8420
RUN_KINDS: Final = ("argv", "http", "python")
_LARGEST_PORT: Final = 65_535
_LARGEST_BODY: Final = 3_900_000  # what the road of a call reads at most, with room to spare
_UNITS: Final = ("s", "min", "h", "day")
_ANYWHERE: Final = frozenset(("", "0.0.0.0", "::"))  # noqa: S104 -- recognised, not bound

RunKind = Literal["argv", "http", "python"]
BuiltIn = Literal["public", "operator", "none"]
BUILT_IN: Final = ("public", "operator", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a platform is served.

    Args:
        host, port: where it listens; port 0 takes a free one.
        database_url: `sqlite:///abs/path.db` or `postgresql://...`; memory by default, gone at the end.
        public_url: the address that clients use, where it is not `http://host:port`.
        allow_run: kinds of `run` that published tools may use here: "http" always, "argv" and "python" only
            where they are named, since both run programs on this machine.
        built_in: whose the tools are that come with toolhaft: "public" for every key, "operator" for those of
            operators, "none" for nobody.
        allow_env: names that published tools may ask for as `${env:NAME}`; none by default.
        env_file: a `.env` file that those are looked up in where the process does not have them.
        http_allow: hosts that published tools may reach although they are not public.
        files: a folder for tools that touch files; each owner has a folder of its own inside it.
        body_bytes: the largest body.
        rate: calls and reads a stored key may make, such as "600/min"; None does not count.
        max_parallel, max_parallel_per_key: calls that run at once.
        max_connections: connections at once.
        call_timeout_s: the longest call, whatever its tool says.
        request_timeout_s: how long a client may take to send a request, or to take an answer.
        grace_s: how long calls may go on once the server is told to stop.
        workers: 1; more would need limits that are shared.

    Raises:
        ConfigError: for a value that makes no sense, telling which and what to write.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    database_url: str = "sqlite://"
    public_url: str | None = None
    allow_run: frozenset[str] = frozenset()
    built_in: BuiltIn = "public"
    allow_env: frozenset[str] = frozenset()
    env_file: str | os.PathLike[str] | None = None
    http_allow: tuple[str, ...] = ()
    files: str | os.PathLike[str] | None = None
    body_bytes: int = 1_000_000
    rate: str | None = "600/min"
    max_parallel: int = 64
    max_parallel_per_key: int = 32
    max_connections: int = 1_000
    call_timeout_s: float = 60.0
    request_timeout_s: float = 15.0
    grace_s: float = 10.0
    workers: int = 1
    kinds: frozenset[str] = field(init=False)
    """Every kind that may run."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("allow_run", "allow_env"):
            put(self, name, frozenset(_names(name, getattr(self, name))))
        put(self, "http_allow", tuple(_names("http_allow", self.http_allow)))
        put(self, "kinds", self.allow_run | {"http"})
        self._check_numbers()
        unknown = sorted(self.allow_run - set(RUN_KINDS))
        if unknown:
            raise ConfigError(
                f"allow_run: {unknown[0]!r} is no kind of run", fix=f"use {', '.join(RUN_KINDS)}"
            )
        if self.built_in not in BUILT_IN:
            raise ConfigError(f"built_in: {self.built_in!r:.80} is none", fix=f"use {', '.join(BUILT_IN)}")
        if self.rate is not None:
            _check_rate(self.rate)
        if self.public_url is not None:
            put(self, "public_url", _checked_url(self.public_url))
        elif self.host in _ANYWHERE:
            raise ConfigError(
                f"host {self.host!r} is every address of this machine, and none that a client can name",
                fix="give public_url (--public-url) too, the address that clients use",
            )

    def _check_numbers(self) -> None:
        if self.workers != 1:
            raise ConfigError(f"workers: {self.workers!r} is not served", fix="use 1; one process serves all")
        if not _is_whole(self.port) or not 0 <= self.port <= _LARGEST_PORT:
            raise ConfigError(
                f"port: {self.port!r} is no port", fix=f"use a number from 0 to {_LARGEST_PORT}"
            )
        for name in ("max_parallel", "max_parallel_per_key", "max_connections", "body_bytes"):
            if not _is_whole(getattr(self, name)) or getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)!r} is too little", fix="use 1 or more")
        if self.body_bytes > _LARGEST_BODY:
            raise ConfigError(
                f"body_bytes: {self.body_bytes:,} is too much", fix=f"at most {_LARGEST_BODY:,}"
            )
        for name in ("call_timeout_s", "request_timeout_s", "grace_s"):
            value: object = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
                raise ConfigError(f"{name}: {value!r} is no time", fix="use seconds, more than 0")

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)

    def url_at(self, port: int) -> str:
        """The address that clients use when this port is bound, without a slash at its end."""
        return self.public_url or f"http://{bracketed(self.host)}:{port}"

    def hosts_at(self, port: int) -> frozenset[bytes]:
        """The values of a Host header that are answered."""
        own = urlsplit(self.url_at(port))
        names = {own.netloc}
        if own.port is None:
            names.add(f"{own.netloc}:{443 if own.scheme == 'https' else 80}")
        if self.is_loopback:
            names |= {f"{name}:{port}" for name in ("127.0.0.1", "[::1]", "localhost", bracketed(self.host))}
        return frozenset(name.lower().encode() for name in names)

    def origins_at(self, port: int) -> frozenset[bytes]:
        """The values of an Origin header that are answered: its own pages, of which there are none yet."""
        scheme = urlsplit(self.url_at(port)).scheme
        return frozenset(f"{scheme}://".encode() + host for host in self.hosts_at(port))


def is_loopback(host: str) -> bool:
    """True for a name or address that leads to this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    """The host as it stands in an address."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _names(what: str, given: Iterable[str]) -> Iterable[str]:
    if isinstance(given, str):  # its letters would be taken for names
        raise ConfigError(
            f"{what} is a list of names, not the text {given!r:.80}", fix=f"write [{given!r:.80}]"
        )
    return given


def _check_rate(rate: str) -> None:
    count, _, unit = rate.partition("/")
    if not (count.isascii() and count.isdigit() and int(count) > 0 and unit in _UNITS):
        raise ConfigError(f"rate: {rate!r} is no rate", fix="write it as 600/min, with s, min, h or day")


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_plain = parts.hostname and parts.port != 0 and not parts.username and not parts.password
    except ValueError:
        parts, is_plain = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not is_plain or parts.query or parts.fragment:
        raise ConfigError(
            f"public_url: {url!r:.200} is no address", fix="write it as https://tools.example.com"
        )
    if parts.path.strip("/"):
        raise ConfigError(f"public_url: {url!r:.200} has a path", fix="give the platform a host of its own")
    return f"{parts.scheme}://{parts.netloc.lower()}"
