"""Measures calls per second of the platform, compared with a bare Starlette JSON echo on the same uvicorn.

Servers and client run in separate processes. Times are per call: the target of twice the time means that
keys, limits, validation and the call pipeline may cost half of the calls per second. The group also has the
figure of the start of the command line.
"""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple, cast

from benchmarks.measure import Figure
from benchmarks.serve_apps import ECHO, SUMS
from benchmarks.startup import startup_figures

_CONNECTIONS = 32
_SECONDS = 0.6
_ROUNDS = 8
_MOST_TIMES = 2.0
_MOST_TIMES_BEHIND = 4.0
_ECHOED = {"text": "a text of some length", "count": 3, "tags": ["one", "two"]}


def run() -> list[Figure]:
    """All figures of this group."""
    with serving("echo") as bare, serving("platform") as platform, _client() as client:
        for id in ("echo", "echo_on_thread"):
            publish(platform, id, ECHO.format(id=id, function=id))
        publish(platform, "sums", SUMS.format(port=platform.port))
        body, key = json.dumps(_ECHOED), platform.key
        sums = '{"expression": "1 + 2 * 3"}'
        sides = {
            "bare": _request(bare, "/echo", body),
            "bare_on_thread": _request(bare, "/echo_on_thread", body),
            "run_echo": _request(platform, "/v3/tool/echo", body, key),
            "run_calculator": _request(platform, "/v3/tool/calculator", sums, key),
            "run_stand_in": _request(platform, "/v3/tool/sums", sums, key),
            "run_echo_on_thread": _request(platform, "/v3/tool/echo_on_thread", body, key),
        }
        ports = {name: bare.port if name.startswith("bare") else platform.port for name in sides}
        best = dict.fromkeys(sides, 0.0)
        for _ in range(_ROUNDS):
            for name, request in sides.items():
                best[name] = max(best[name], client(ports[name], request))
    return [
        _figure("run_echo", best, "bare"),
        _figure("run_calculator", best, "bare"),
        # a published tool that runs a built-in one: two pipelines, one inside the other
        _figure("run_stand_in", best, "bare", most=_MOST_TIMES_BEHIND),
        # a tool on a thread is compared with an echo on a thread
        _figure("run_echo_on_thread", best, "bare_on_thread"),
        *startup_figures(),
    ]


def _figure(name: str, best: dict[str, float], limit: str, *, most: float = _MOST_TIMES) -> Figure:
    """The time of one call, compared with the bare server."""
    return Figure(name, 1e6 / best[name], 1e6 / best[limit], best[limit] / best[name], most)


class Server(NamedTuple):
    """A running server: its port and its keys."""

    port: int
    key: str
    operator: str


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """Run one of the servers."""
    with _program("benchmarks.serve_apps", name) as (_, out):
        started = json.loads(out.readline())
        yield Server(started["port"], started["key"], started["operator"])


@contextmanager
def _client() -> Iterator[object]:
    with _program("benchmarks.serve_client") as (into, out):

        def ask(port: int, request: str) -> float:
            order = {"port": port, "request": request, "connections": _CONNECTIONS, "seconds": _SECONDS}
            into.write(f"{json.dumps(order)}\n".encode())
            into.flush()
            return float(out.readline())

        yield ask


@contextmanager
def _program(module: str, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Run a Python program that ends when its input does."""
    with subprocess.Popen(  # noqa: S603 -- programs of this folder
        [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        finally:
            process.communicate(timeout=30)


def publish(platform: Server, id: str, text: str) -> None:
    """Publish a tool."""
    connection = http.client.HTTPConnection("127.0.0.1", platform.port, timeout=30)
    headers = {"Authorization": f"Bearer {platform.key}", "Content-Type": "application/yaml"}
    connection.request("PUT", f"/v3/tools/{id}", text, headers)
    answer = connection.getresponse()
    assert answer.status == http.HTTPStatus.CREATED, answer.read()
    connection.close()


def _request(server: Server, path: str, body: str, key: str = "") -> str:
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
        f"{authorization}Content-Length: {len(body)}\r\n\r\n{body}"
    )
