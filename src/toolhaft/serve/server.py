"""Serves a platform in this process until it is told to stop, and lets what runs come to its end.

Knows uvicorn, sockets and signals; does not know what is served.
"""

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
from toolhaft.serve.protocol import BoundedProtocol, bounded
from toolhaft.serve.settings import Settings

try:
    from uvicorn import Config, Server
except ImportError as error:  # pragma: no cover -- the tests have it
    raise ImportError("the platform needs uvicorn: pip install 'toolhaft[serve]'") from error

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_TICKS_A_SWEEP: Final = 5
_BACKLOG: Final = 2_048
_LAST_ANSWERS_S: Final = 5.0  # what was cancelled is undone and told within this


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A platform that accepts requests."""

    url: str
    key: str | None
    """The key that is valid until this process ends; None off loopback, where only stored ones are."""


def run(settings: Settings, *, on_start: Callable[[Started], None] | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; calls that run then have `grace_s` to end, and are undone after it.

    Args:
        settings: what the operator decided.
        on_start: told once requests are accepted.

    Raises:
        ConfigError: where the address is taken, or is not on loopback and no key is stored.
        StorageError: where the database cannot be opened.
    """
    listener = listen(settings.host, settings.port)
    try:
        app = PlatformApp(settings, port=cast("int", listener.getsockname()[1]))
    except BaseException:
        listener.close()
        raise
    server = PlatformServer(app, settings, on_start)
    server.run(sockets=[listener])


class PlatformServer(Server):
    """uvicorn's server with a shutdown that first lets calls end, then undoes them."""

    def __init__(
        self, app: PlatformApp, settings: Settings, on_start: Callable[[Started], None] | None = None
    ) -> None:
        self._app = app
        self._settings = settings
        self._on_start = on_start
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_hurried = False
        super().__init__(configure(app, settings))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell whoever waits for it that requests are accepted."""
        await super().startup(sockets)
        if self.started and self._on_start is not None:
            self._on_start(Started(url=self._app.url, key=self._app.key))

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections now and then."""
        if counter % _TICKS_A_SWEEP == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                cast("BoundedProtocol", connection).sweep(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, let calls end within the grace, cancel the others."""
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(self._settings.grace_s, self._end_grace)
        if self._is_hurried:
            self._hurry()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn leaves without it
            await self.lifespan.shutdown()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- the shape of a signal handler
        """Stop on the first signal; one more ends the grace, and each client is still told."""
        if not self.should_exit:
            self.should_exit = True
            return
        self._is_hurried = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._hurry)

    def _hurry(self) -> None:
        self._end_grace()
        asyncio.get_running_loop().call_later(_LAST_ANSWERS_S, self._leave)

    def _leave(self) -> None:
        """Wait no longer for what does not end."""
        self.force_exit = True

    def _end_grace(self) -> None:
        self._app.cancel_calls()
        for connection in list(self.server_state.connections):
            cast("BoundedProtocol", connection).cut_off()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on a signal, and end as a program that was asked to stop and did: with exit code 0."""
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
    """How uvicorn serves: no log of requests, no word of proxies believed, no web sockets."""
    return Config(
        app,
        host=settings.host,
        port=settings.port,
        http=bounded(most=settings.max_connections, patience_s=settings.request_timeout_s),
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=cast("int", settings.grace_s + _LAST_ANSWERS_S),
        workers=1,
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound.

    Raises:
        ConfigError: where the address is no address of this machine, or taken.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, proto, _, address = found[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise ConfigError(
            f"host {host!r} cannot be listened on: {error.strerror}", fix="check --host"
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"{host}:{port} cannot be listened on: {error.strerror}",
            fix="stop what uses it, or give another --port",
        ) from error
    return listener
