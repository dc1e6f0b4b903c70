"""A loopback HTTP server that answers from a script, in whatever framing a provider uses.

Does not know any provider: what a request must look like, and how a bad one is refused, comes from outside.
"""

import json
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from struct import pack
from threading import Thread
from typing import NamedTuple

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


def whole(body: object, *, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """One JSON document."""
    return Answer((json.dumps(body).encode(),), status=status, headers=headers)


def sse(events: Iterable[object], *, named: bool = False, done: str = "") -> Answer:
    """Server-sent events, with their type as the event's name where the wire names them."""
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
        """What the requests said, without how."""
        return [request.body for request in self.requests]

    def answer(self, request: Request) -> Answer:
        """The next answer of the script, or the provider's refusal of a bad request."""
        self.requests.append(request)
        try:
            self._check(request)
        except Refused as refused:
            self.refusals.append(str(refused))
            return self._refuse(str(refused))
        except Exception as fault:  # noqa: BLE001 -- told at the end of the test, not lost in this thread
            self.faults.append(fault)
            return self._refuse(repr(fault))
        return self.script.pop(0) if self.script else self._refuse("the script has ended")


@contextmanager
def serving(
    check: Callable[[Request], None], refuse: Callable[[str], Answer], script: Iterable[Answer]
) -> Iterator[Served]:
    """A server for one test; that it was asked for the whole script is part of the test."""
    served = Served(check, refuse)
    served.script.extend(script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served))
    server.daemon_threads = False  # so that closing waits for them
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join(WAIT_S)
        server.server_close()
    assert served.faults == []
    assert served.script == []


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = WAIT_S

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(served.answer(Request(self.path, headers, json.loads(text))))

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            # one request a connection: no thread outlives the test that it served
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
