"""Goes from place to place until an answer is no redirect, each place judged before it is connected to.

Does not know a call or its context.
"""

from __future__ import annotations

import ssl
from threading import Lock
from types import TracebackType

from toolhaft.errors import HttpError, HttpRefusedError
from toolhaft.resources.http.connect import Connector, connect
from toolhaft.resources.http.exchange import Answer, exchange, usual_tls
from toolhaft.resources.http.gate import Gate
from toolhaft.resources.http.lookup import Resolver
from toolhaft.resources.http.outgoing import Outgoing
from toolhaft.resources.http.places import Place
from toolhaft.resources.http.redirects import next_outgoing, next_place, refused_redirect
from toolhaft.resources.http.response import HttpResponse
from toolhaft.resources.http.terms import Terms


class Fetcher:
    """What all fetches of a client share."""

    __slots__ = ("_connector", "_gate", "_lock", "_resolver", "_tls")

    def __init__(
        self, gate: Gate, resolver: Resolver, connector: Connector, tls: ssl.SSLContext | None
    ) -> None:
        self._gate = gate
        self._resolver = resolver
        self._connector = connector
        self._tls = tls
        self._lock = Lock()

    def run(self, place: Place, outgoing: Outgoing, terms: Terms) -> HttpResponse:
        """The answer at the end of all redirects; with none allowed, the first one.

        Raises:
            HttpError: where there is none.
        """
        answer = self._hop(place, outgoing, terms)
        for _ in range(terms.max_redirects):
            if not answer.is_redirect:
                break
            following = next_place(place, answer.locations)
            outgoing = next_outgoing(outgoing, answer.status, place, following)
            answer = self._hop(following, outgoing, terms, place)
            place = following
        if terms.follows_redirects and answer.is_redirect:
            raise HttpError(
                f"more than {terms.max_redirects} redirects, the last one from {place.host.shown}"
            )
        return HttpResponse(status=answer.status, url=place.url, headers=answer.headers, body=answer.body)

    def _hop(self, place: Place, outgoing: Outgoing, terms: Terms, came_from: Place | None = None) -> Answer:
        with _Told(came_from):
            is_open = self._gate.check(place)
        if terms.vet is not None:
            terms.vet(place.url)
        tls = self._secured() if place.scheme == "https" else None
        with _Told(came_from):
            opened = connect(
                place,
                is_open=is_open,
                resolver=self._resolver,
                connector=self._connector,
                timer=terms.timer,
            )
        return exchange(place, outgoing, opened, tls=tls, terms=terms)

    def _secured(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                try:
                    self._tls = usual_tls()
                except OSError as error:  # TLS's own errors are such too
                    raise HttpError(
                        "the certificates to trust cannot be read; see that SSL_CERT_FILE and SSL_CERT_DIR, "
                        "where they are set, lead to some"
                    ) from error
            return self._tls


class _Told:
    """A block whose refusals name the redirect that led there."""

    __slots__ = ("_came_from",)

    def __init__(self, came_from: Place | None) -> None:
        self._came_from = came_from

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if self._came_from is not None and isinstance(error, HttpRefusedError):
            raise refused_redirect(self._came_from, error) from error
