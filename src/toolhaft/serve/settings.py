"""The settings of a platform, checked before anything is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar
from urllib.parse import urlsplit

from toolhaft.define.running.variable_bindings import VariableBinding, parse_binding
from toolhaft.errors import ConfigError
from toolhaft.resources.http.urls import is_loopback

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8420
RUN_KINDS: Final = ("argv", "http", "python")
_MAX_PORT: Final = 65_535
_MAX_BODY_BYTES: Final = 3_900_000  # a little less than an executor accepts
_COUNTS: Final = ("max_parallel", "max_parallel_per_key", "max_connections", "max_connections_per_address")
_RATE_UNITS: Final = ("s", "min", "h", "day")
_ALL_ADDRESSES: Final = frozenset(("", "0.0.0.0", "::"))  # noqa: S104 -- recognised, not bound

_NameT = TypeVar("_NameT")
BuiltIn = Literal["public", "operator", "none"]
BUILT_IN_VALUES: Final = ("public", "operator", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a platform.

    Args:
        host, port: where it listens; port 0 takes a free port.
        database_url: `sqlite:///abs/path.db` or `postgresql://...`; in memory by default.
        public_url: the address that clients use, if it is not `http://host:port`.
        allow_run: kinds of `run` that published tools may use: "http" always, "argv" and "python" only
            if they are listed here, since both run programs on this machine.
        built_in: who may use the tools that come with toolhaft: "public" for every key, "operator" for
            operators' keys, "none" for nobody.
        allow_env: environment variables that published tools may use as `${env:NAME}`, with the hosts that
            may receive them, and the owner of the tools: "NAME=HOST", "NAME=HOST,HOST@OWNER".
        env_file: a `.env` file for those that the process environment does not have.
        http_allow: hosts that published tools may reach although they are not public.
        module_folder: where published `run: python` tools find modules that are not installed; needs "python"
            in `allow_run`.
        files: a folder for tools that use files; each owner gets a separate folder inside it.
        body_bytes: the largest body of a request.
        rate: requests that a stored key may send, such as "600/min"; None for no limit.
        max_parallel, max_parallel_per_key: calls that run at once, in all and per key.
        max_connections, max_connections_per_address: open connections, in all and per address of a client;
            beyond them only `/healthz` is answered.
        call_timeout_s: the time limit of every call; a tool's own limit may be shorter.
        request_timeout_s: how long a client may take to send a request, or to read a response.
        grace_s: how long calls may go on once the server stops.
        workers: 1; more would need limits shared between processes.

    Raises:
        ConfigError: for an invalid value; the message names it and what to write.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    database_url: str = "sqlite://"
    public_url: str | None = None
    allow_run: frozenset[str] = frozenset()
    built_in: BuiltIn = "public"
    allow_env: Iterable[str | VariableBinding] = frozenset()
    env_file: str | os.PathLike[str] | None = None
    http_allow: tuple[str, ...] = ()
    module_folder: str | os.PathLike[str] | None = None
    files: str | os.PathLike[str] | None = None
    body_bytes: int = 1_000_000
    rate: str | None = "600/min"
    max_parallel: int = 64
    max_parallel_per_key: int = 32
    max_connections: int = 1_000
    max_connections_per_address: int = 250
    call_timeout_s: float = 60.0
    request_timeout_s: float = 15.0
    grace_s: float = 10.0
    workers: int = 1
    kinds: frozenset[str] = field(init=False)
    """Every kind of `run` that is allowed."""

    def __post_init__(self) -> None:
        assign = object.__setattr__
        assign(self, "allow_run", frozenset(_check_names("allow_run", self.allow_run)))
        assign(self, "allow_env", frozenset(_read_bindings(_check_names("allow_env", self.allow_env))))
        assign(self, "http_allow", tuple(_check_names("http_allow", self.http_allow)))
        assign(self, "kinds", self.allow_run | {"http"})
        self._check_numbers()
        unknown = sorted(self.allow_run - set(RUN_KINDS))
        if unknown:
            raise ConfigError(
                f"allow_run: {unknown[0]!r} is not a kind of run", fix=f"use {', '.join(RUN_KINDS)}"
            )
        if self.built_in not in BUILT_IN_VALUES:
            raise ConfigError(
                f"built_in: {self.built_in!r:.80} is not valid", fix=f"use {', '.join(BUILT_IN_VALUES)}"
            )
        if self.rate is not None:
            _check_rate(self.rate)
        if self.public_url is not None:
            assign(self, "public_url", _check_url(self.public_url))
        elif self.host in _ALL_ADDRESSES:
            raise ConfigError(
                f"host {self.host!r} means every address of this machine, which clients cannot use",
                fix="set public_url (--public-url) too, the address that clients use",
            )

    def _check_numbers(self) -> None:
        if self.workers != 1:
            raise ConfigError(
                f"workers: {self.workers!r} is not supported", fix="use 1; the server is a single process"
            )
        if not _is_whole(self.port) or not 0 <= self.port <= _MAX_PORT:
            raise ConfigError(f"port: {self.port!r} is not a port", fix=f"use a number from 0 to {_MAX_PORT}")
        for name in (*_COUNTS, "body_bytes"):
            if not _is_whole(getattr(self, name)) or getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)!r} is too small", fix="use 1 or more")
        if self.body_bytes > _MAX_BODY_BYTES:
            raise ConfigError(
                f"body_bytes: {self.body_bytes:,} is too large", fix=f"use at most {_MAX_BODY_BYTES:,}"
            )
        for name in ("call_timeout_s", "request_timeout_s", "grace_s"):
            value: object = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
                raise ConfigError(f"{name}: {value!r} is not a time limit", fix="use seconds, more than 0")

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)

    @property
    def has_one_time_key(self) -> bool:
        """True if the server may make a key for its operator: no other machine is meant to reach it."""
        return self.is_loopback and self.public_url is None

    def url_at(self, port: int) -> str:
        """The address that clients use when this port is bound, without a trailing slash."""
        return self.public_url or f"http://{bracketed(self.host)}:{port}"

    def hosts_at(self, port: int) -> frozenset[bytes]:
        """The accepted values of the Host header."""
        own = urlsplit(self.url_at(port))
        names = {own.netloc}
        if own.port is None:
            names.add(f"{own.netloc}:{443 if own.scheme == 'https' else 80}")
        if self.is_loopback:
            names |= {f"{name}:{port}" for name in ("127.0.0.1", "[::1]", "localhost", bracketed(self.host))}
        return frozenset(name.lower().encode() for name in names)

    def origins_at(self, port: int) -> frozenset[bytes]:
        """The accepted values of the Origin header: the platform's own pages."""
        scheme = urlsplit(self.url_at(port)).scheme
        return frozenset(f"{scheme}://".encode() + host for host in self.hosts_at(port))


def bracketed(host: str) -> str:
    """The host as written in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_bindings(texts: Iterable[object]) -> Iterator[VariableBinding]:
    for text in texts:
        try:
            yield parse_binding(text)
        except ConfigError as error:
            raise ConfigError(f"allow_env: {error.problem}", fix=error.fix) from None


def _check_names(what: str, names: Iterable[_NameT]) -> Iterable[_NameT]:
    if isinstance(names, str):  # its characters would be read as names
        raise ConfigError(
            f"{what} is a list of names, not the string {names!r:.80}", fix=f"write [{names!r:.80}]"
        )
    return names


def _check_rate(rate: str) -> None:
    count, _, unit = rate.partition("/")
    if not (count.isascii() and count.isdigit() and int(count) > 0 and unit in _RATE_UNITS):
        raise ConfigError(f"rate: {rate!r} is not a rate", fix="write it as 600/min, with s, min, h or day")


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_plain = parts.hostname and parts.port != 0 and not parts.username and not parts.password
    except ValueError:
        parts, is_plain = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not is_plain or parts.query or parts.fragment:
        raise ConfigError(
            f"public_url: {url!r:.200} is not a valid address", fix="write it as https://tools.example.com"
        )
    if parts.path.strip("/"):
        raise ConfigError(f"public_url: {url!r:.200} has a path", fix="use a separate host for the platform")
    return f"{parts.scheme}://{parts.netloc.lower()}"
