"""A loopback HTTP server with scripted responses, in the framing of any provider."""

import json
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from struct import pack
from threading import Thread
from typing import Any, NamedTuple

WAIT_S = 10
PIECE_BYTES = 61
"""What goes out at once of a stream: no event of any wire ends there, so that clients must join pieces."""


class Refused(Exception):  # noqa: N818 -- what a provider does with a bad request
    """The provider would not take this request."""


class Request(NamedTuple):
    """One request as it came."""

    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: object


class Answer(NamedTuple):
    """One answer, ready to send; `pieces` of more than one are sent as a stream."""

    pieces: tuple[bytes, ...]
    content_type: str = "application/json"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def batched(members: Iterable[Any], size: int = 12) -> list[list[Any]]:
    """The members in groups: one request per group instead of one per member."""
    listed = list(members)
    return [listed[start : start + size] for start in range(0, len(listed), size)]


def whole(body: object, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """One JSON document."""
    return Answer((json.dumps(body).encode(),), status=status, headers=headers)


def sse(events: Iterable[object], *, named: bool = False, done: str = "") -> Answer:
    """Server-sent events, with their type as the event's name if the provider names them."""
    lines = [
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    if done:
        lines.append(f"data: {done}\n\n")
    return Answer(_cut("".join(lines).encode()), "text/event-stream; charset=utf-8")


def ndjson(lines: Iterable[object]) -> Answer:
    """One JSON document a line."""
    return Answer(_cut("".join(f"{json.dumps(line)}\n" for line in lines).encode()), "application/x-ndjson")


def aws_events(events: Iterable[tuple[str, object]]) -> Answer:
    """The binary event stream of AWS: each event is its type and its JSON payload."""
    stream = b"".join(_aws_frame(kind, json.dumps(payload).encode()) for kind, payload in events)
    return Answer(_cut(stream), "application/vnd.amazon.eventstream")


def _aws_frame(kind: str, payload: bytes) -> bytes:
    """Lengths and their checksum, the headers, the payload, the checksum of all that."""
    fields = ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event"))
    headers = b"".join(
        pack("!B", len(name)) + name.encode() + pack("!BH", 7, len(value)) + value.encode()  # 7 is a string
        for name, value in fields
    )
    prelude = pack("!II", 16 + len(headers) + len(payload), len(headers))
    frame = prelude + pack("!I", crc32(prelude)) + headers + payload
    return frame + pack("!I", crc32(frame))


def _cut(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES))


class Served:
    """A running server: where it listens, what it was asked and what it still has to say."""

    def __init__(self, check: Callable[[Request], None], refuse: Callable[[str], Answer]) -> None:
        self.url = ""
        self.requests: list[Request] = []
        self.refusals: list[str] = []
        self.faults: list[Exception] = []
        self.script: list[Answer] = []
        self._check = check
        self._refuse = refuse

    def bodies(self) -> list[object]:
        """The bodies of the requests."""
        return [request.body for request in self.requests]

    def answer(self, request: Request) -> Answer:
        """The next answer of the script, or the provider's refusal of a bad request."""
        self.requests.append(request)
        try:
            self._check(request)
        except Refused as refused:
            self.refusals.append(str(refused))
            return self._refuse(str(refused))
        except Exception as fault:  # noqa: BLE001 -- reported at the end of the test, not lost in this thread
            self.faults.append(fault)
            return self._refuse(repr(fault))
        return self.script.pop(0) if self.script else self._refuse("the script has ended")


class _Host:
    """The one HTTP server of a test session; `serving` sets who answers its requests."""

    def __init__(self) -> None:
        self.served: Served | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False  # so that closing waits for them
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join(WAIT_S)
        self._server.server_close()

    def answer(self, request: Request) -> Answer:
        """The answer of the test that is running."""
        assert self.served is not None, "a request outside of a test"
        return self.served.answer(request)


_hosts: list[_Host] = []


def close_host() -> None:
    """Stop the shared server, at the end of the session."""
    while _hosts:
        _hosts.pop().close()


@contextmanager
def serving(
    check: Callable[[Request], None], refuse: Callable[[str], Answer], script: Iterable[Answer]
) -> Iterator[Served]:
    """The shared server with the script of one test; that the whole script was used is part of the test."""
    if not _hosts:
        _hosts.append(_Host())
    host = _hosts[0]
    served = Served(check, refuse)
    served.script.extend(script)
    served.url = host.url
    host.served = served
    try:
        yield served
    finally:
        host.served = None
    assert served.faults == []
    assert served.script == []


def _handler(host: _Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = WAIT_S

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(host.answer(Request(self.path, headers, json.loads(text))))

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            # one request per connection: no thread waits for more
            self.send_header("connection", "close")
            for name, value in answer.headers:
                self.send_header(name, value)
            if len(answer.pieces) == 1:
                self.send_header("content-length", str(len(answer.pieces[0])))
                self.end_headers()
                self.wfile.write(answer.pieces[0])
                return
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in (*answer.pieces, b""):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: requests are recorded, not printed."""

    return Handler
