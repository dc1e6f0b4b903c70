"""Follows redirects, and checks each host before it connects."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from toolhaft.errors import HttpError, HttpRefusedError
from toolhaft.resources.http.access import HostRules
from toolhaft.resources.http.connect import Connector, Resolver, connect
from toolhaft.resources.http.exchange import RawResponse, default_tls, exchange
from toolhaft.resources.http.request import (
    FetchLimits,
    OutgoingRequest,
    redirect_target,
    redirected_request,
    refused_redirect,
)
from toolhaft.resources.http.response import HttpResponse
from toolhaft.resources.http.urls import RequestUrl


class RedirectFollower:
    """Runs the fetches of a client, redirects included."""

    __slots__ = ("_connector", "_lock", "_resolver", "_rules", "_tls")

    def __init__(
        self, rules: HostRules, resolver: Resolver, connector: Connector, tls: ssl.SSLContext | None
    ) -> None:
        self._rules = rules
        self._resolver = resolver
        self._connector = connector
        self._tls = tls
        self._lock = Lock()

    def run(self, url: RequestUrl, outgoing: OutgoingRequest, limits: FetchLimits) -> HttpResponse:
        """The response at the end of all redirects; the first response if none are allowed.

        Raises:
            HttpError: if there is no response.
        """
        response = self._hop(url, outgoing, limits)
        for _ in range(limits.max_redirects):
            if not response.is_redirect:
                break
            following = redirect_target(url, response.locations)
            outgoing = redirected_request(outgoing, response.status, url, following)
            response = self._hop(following, outgoing, limits, url)
            url = following
        if limits.follows_redirects and response.is_redirect:
            raise HttpError(
                f"more than {limits.max_redirects} redirects, the last one from {url.host.display_name}"
            )
        return HttpResponse(status=response.status, url=url.url, headers=response.headers, body=response.body)

    def _hop(
        self,
        url: RequestUrl,
        outgoing: OutgoingRequest,
        limits: FetchLimits,
        redirected_by: RequestUrl | None = None,
    ) -> RawResponse:
        with _naming_redirect(redirected_by):
            is_open = self._rules.check(url)
        if limits.check_url is not None:
            limits.check_url(url.url)
        tls = self._tls_context() if url.scheme == "https" else None
        with _naming_redirect(redirected_by):
            opened = connect(
                url,
                is_open=is_open,
                resolver=self._resolver,
                connector=self._connector,
                timer=limits.timer,
            )
        return exchange(url, outgoing, opened, tls=tls, limits=limits)

    def _tls_context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                try:
                    self._tls = default_tls()
                except OSError as error:  # includes ssl.SSLError
                    raise HttpError(
                        "the trusted certificates cannot be read; check SSL_CERT_FILE and SSL_CERT_DIR "
                        "if they are set"
                    ) from error
            return self._tls


@contextmanager
def _naming_redirect(redirected_by: RequestUrl | None) -> Generator[None]:
    """A block whose HttpRefusedErrors name the host that redirected to the URL."""
    try:
        yield
    except HttpRefusedError as error:
        if redirected_by is None:
            raise
        raise refused_redirect(redirected_by, error) from error
