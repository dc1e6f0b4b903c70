"""A program that repeats one request on many connections and counts the responses.

Every response must be a 200 with the declared length.
"""

import asyncio
import json
import sys
import time

import uvloop


class _Connection(asyncio.Protocol):
    """One connection that sends the next request as soon as a response is complete."""

    def __init__(self, request: bytes, count: list[int]) -> None:
        self._request = request
        self._count = count
        self._data = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        start = self._data.find(b"content-length: ") + 16
        whole = head + 4 + int(self._data[start : self._data.find(b"\r", start)])
        if len(self._data) < whole:
            return
        if not self._data.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._data.decode()[:500])
        self._data = b""
        self._count[0] += 1
        self._transport.write(self._request)


async def _drive(port: int, request: bytes, connections: int, seconds: float) -> float:
    """Return the number of responses per second."""
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context.get("exception")))
    count = [0]
    transports = [
        (await loop.create_connection(lambda: _Connection(request, count), "127.0.0.1", port))[0]
        for _ in range(connections)
    ]
    began, before = time.perf_counter(), count[0]
    await asyncio.sleep(seconds)
    rate = (count[0] - before) / (time.perf_counter() - began)
    for transport in transports:
        transport.abort()
    if failures:
        raise RuntimeError(str(failures[0]))
    return rate


def main() -> None:
    """Answer each line of input, `{"port", "request", "connections", "seconds"}`, with a rate."""
    for line in sys.stdin:
        asked = json.loads(line)
        rate = uvloop.run(
            _drive(asked["port"], asked["request"].encode(), asked["connections"], asked["seconds"])
        )
        sys.stdout.write(f"{rate}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
