"""A proxy between a client and PostgreSQL that can cut a connection during a commit."""

import socket
from contextlib import suppress
from threading import Thread


class Proxy:
    """Passes bytes on, on loopback; cuts the line that carries a COMMIT as it is told to.

    `cut` is None, "before" (the server never hears it) or "after" (the server does it, the client never hears so).
    `is_open` False refuses whoever comes after that.
    """

    def __init__(self, port):
        self.cut = None
        self.is_open = True
        self._is_mute = False
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def url(self, url):
        return url.replace(f":{self._server[1]}/", f":{self.port}/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self.is_open:
                client.close()
                continue
            server = socket.create_connection(self._server)
            for pump, source, target in ((self._ask, client, server), (self._answer, server, client)):
                thread = Thread(target=pump, args=(source, target), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _ask(self, client, server):
        while data := _receive(client):
            if b"COMMIT\0" in data and self.cut:
                if self.cut == "before":
                    break
                self._is_mute = True
            server.sendall(data)
        _end(client, server)

    def _answer(self, server, client):
        while data := _receive(server):
            if self._is_mute:
                self._is_mute = False
                break
            try:
                client.sendall(data)
            except OSError:
                break
        _end(client, server)


def _receive(place):
    try:
        return place.recv(65536)
    except OSError:
        return b""


def _end(*places):
    for place in places:
        with suppress(OSError):
            place.shutdown(socket.SHUT_RDWR)  # wakes whoever waits for it
        place.close()
