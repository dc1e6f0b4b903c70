"""Serves the platform with uvicorn until a signal stops it; running calls get time to finish."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final, cast

from toolhaft.errors import ConfigError
from toolhaft.serve.app import PlatformApp
from toolhaft.serve.limits import MAX_EXTRA_CONNECTIONS, ConnectionLimit
from toolhaft.serve.protocol import BoundedProtocol, limited_protocol
from toolhaft.serve.settings import Settings

try:
    from uvicorn import Config, Server
except ImportError as error:  # pragma: no cover -- installed in the tests
    raise ImportError("the platform needs uvicorn: pip install 'toolhaft[serve]'") from error

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_TICKS_PER_CHECK: Final = 5
_BACKLOG: Final = 2_048
_OTHER_FILES: Final = 512
"""Files that are not connections: of the database, of tools, and connections that are not counted yet."""
_LAST_RESPONSES_S: Final = 5.0
"""How long cancelled calls have to be rolled back and answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A platform that accepts requests."""

    url: str
    key: str | None
    """A key for this process; None beyond loopback, with a `public_url`, or once a key was stored."""


def run(settings: Settings, *, on_start: Callable[[Started], None] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; running calls then have `grace_s` to finish, and are cancelled after it.

    Args:
        settings: the operator's settings.
        on_start: called once requests are accepted.

    Raises:
        ConfigError: if the address is in use, or is not on loopback and no key is stored.
        StorageError: if the database cannot be opened.
    """
    listener = listen(settings.host, settings.port)
    try:
        app = PlatformApp(settings, port=cast("int", listener.getsockname()[1]))
    except BaseException:
        listener.close()
        raise
    _allow_open_files(settings.max_connections + MAX_EXTRA_CONNECTIONS + _OTHER_FILES)
    server = PlatformServer(app, settings, on_start)
    server.run(sockets=[listener])


class PlatformServer(Server):
    """uvicorn's server with a shutdown that first lets calls finish, then cancels them."""

    def __init__(
        self, app: PlatformApp, settings: Settings, on_start: Callable[[Started], None] | None = None
    ) -> None:
        self._app = app
        self._settings = settings
        self._on_start = on_start
        self._loop: asyncio.AbstractEventLoop | None = None
        self._skips_grace = False
        super().__init__(configure(app, settings))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Call `on_start` once requests are accepted."""
        await super().startup(sockets)
        if self.started and self._on_start is not None:
            self._on_start(Started(url=self._app.url, key=self._app.key))

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections now and then."""
        if counter % _TICKS_PER_CHECK == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                cast("BoundedProtocol", connection).close_if_slow(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more requests, let calls finish within the grace period, cancel the others."""
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(self._settings.grace_s, self._end_grace)
        if self._skips_grace:
            self._stop_soon()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn skips it then
            await self.lifespan.shutdown()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- a signal handler's signature
        """Stop on the first signal; the second ends the grace period, and clients still get a response."""
        if not self.should_exit:
            self.should_exit = True
            return
        self._skips_grace = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop_soon)

    def _stop_soon(self) -> None:
        self._end_grace()
        asyncio.get_running_loop().call_later(_LAST_RESPONSES_S, self._stop_waiting)

    def _stop_waiting(self) -> None:
        """Exit although some calls have not ended."""
        self.force_exit = True

    def _end_grace(self) -> None:
        self._app.cancel_calls()
        for connection in list(self.server_state.connections):
            cast("BoundedProtocol", connection).abort_if_unfinished()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on a signal with exit code 0; uvicorn would raise the signal again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def configure(app: PlatformApp, settings: Settings) -> Config:
    """The settings of uvicorn: no request log, no trust in proxy headers, no web sockets."""
    return Config(
        app,
        host=settings.host,
        port=settings.port,
        http=limited_protocol(
            ConnectionLimit(settings.max_connections, settings.max_connections_per_address),
            client_timeout_s=settings.request_timeout_s,
        ),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=cast("int", settings.grace_s + _LAST_RESPONSES_S),
        workers=1,
    )


def listen(host: str, port: int) -> socket.socket:
    """Bind a socket and listen on it.

    Raises:
        ConfigError: if the address is not one of this machine, or is in use.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, proto, _, address = found[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise ConfigError(f"cannot listen on host {host!r}: {error.strerror}", fix="check --host") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            fix="stop the program that uses it, or choose another --port",
        ) from error
    return listener


def _allow_open_files(count: int) -> None:
    """Raise the limit of open files as far as this process may: at the limit no connection is accepted."""
    try:
        import resource  # noqa: PLC0415 -- Windows has neither the module nor the limit
    except ImportError:
        return
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    if limit != resource.RLIM_INFINITY and limit < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
