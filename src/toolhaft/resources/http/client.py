"""The guarded web client: fetches from public hosts, and from those that are opened by name.

Does not know what the answers are for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextvars import Context, copy_context
from functools import cache, partial
from threading import Thread
from types import EllipsisType
from typing import Any, Final, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.limits import Deadline
from toolhaft.errors import ResourceMissingError
from toolhaft.resources.http.agent import usual_user_agent
from toolhaft.resources.http.arguments import (
    check_count,
    check_deadline,
    check_mapping,
    check_parts,
    check_query,
    check_seconds,
    check_user_agent,
    check_vet,
)
from toolhaft.resources.http.connect import Connector, open_socket
from toolhaft.resources.http.gate import Gate, listed
from toolhaft.resources.http.lookup import Resolver, system_resolver
from toolhaft.resources.http.outgoing import read_outgoing
from toolhaft.resources.http.places import read_url
from toolhaft.resources.http.response import HttpResponse
from toolhaft.resources.http.terms import Terms, Vet
from toolhaft.resources.http.timer import Timer
from toolhaft.schema.json_value import JSONValue

TYPE_CHECKING = False  # those who only name the client do not pay for TLS
if TYPE_CHECKING:
    import ssl

DEFAULT_BYTES: Final = 5_000_000
DEFAULT_REDIRECTS: Final = 5


class HttpClient:
    """Fetches URLs that may come from anybody: only public hosts, bounded answers, bounded time.

    Every address that a host's name stands for is judged at the moment of connecting, and the connection goes
    to that very address. Proxies, cookies and passwords of the environment are never used. It is made once
    and used by any number of threads.

    Args:
        allow: hosts that may be reached although they are not public, such as "localhost:8080"; without a
            port, on any. A name may lead to any address, an address opens itself only.
        only: if given, nothing else may be reached, `allow` or not; "*.example.com" stands for every host
            below it. An empty list leaves nothing.
        user_agent: what requests say they come from; toolhaft and its version where nothing is given.
        max_bytes: of a body, packed and unpacked.
        max_redirects: that are followed; with 0 the redirect itself is the answer.
        resolver: finds the addresses of a host, in place of the operating system.
        tls: how certificates are verified, in place of what the operating system trusts.
        connector: opens a socket to a vetted address, for tests.

    Raises:
        DefinitionError: for an entry that is no host, or a limit that is no number.
        ImportError: where the packages of `toolhaft[web]` are missing.
    """

    __slots__ = ("_fetcher", "_max_bytes", "_max_redirects", "_options", "_user_agent")

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        only: Iterable[str] | None = None,
        user_agent: str | None = None,
        max_bytes: int = DEFAULT_BYTES,
        max_redirects: int = DEFAULT_REDIRECTS,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        connector: Connector | None = None,
    ) -> None:
        from toolhaft.resources.http.fetching import Fetcher  # noqa: PLC0415 -- slow, and its packages may be missing

        # read once: they may be iterators
        allow, only = listed("allow", allow), None if only is None else listed("only", only)
        self._options: dict[str, object] = {
            "allow": allow,
            "only": only,
            "user_agent": user_agent,
            "max_bytes": max_bytes,
            "max_redirects": max_redirects,
            "resolver": resolver,
            "tls": tls,
            "connector": connector,
        }
        check_parts(resolver, connector, tls)
        self._user_agent = check_user_agent(usual_user_agent() if user_agent is None else user_agent)
        self._max_bytes = check_count("max_bytes", max_bytes)
        self._max_redirects = check_count("max_redirects", max_redirects)
        self._fetcher = Fetcher(Gate(allow, only), resolver or system_resolver, connector or open_socket, tls)

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        json: JSONValue | EllipsisType = ...,
        content: bytes | None = None,
        timeout_s: float = 10.0,
        deadline: Deadline | None = None,
        max_bytes: int | None = None,
        max_redirects: int | None = None,
        vet: Vet | None = None,
    ) -> HttpResponse:
        """Send a request, follow its redirects, and read the whole answer; any status is one.

        Args:
            url: http or https, without a user or password.
            method: in capitals.
            headers: sent along; another origin that a redirect leads to gets Accept, Accept-Language and
                User-Agent only.
            query: parameters that are encoded and added to those of the URL.
            json: a body, written as JSON.
            content: a body as it is.
            timeout_s: for everything: lookup, connection, redirects, the last byte of the body.
            deadline: the same, whichever is sooner.
            max_bytes: in place of the client's.
            max_redirects: in place of the client's.
            vet: called with the URL of each hop before it is requested; what it raises ends the fetch.

        Raises:
            HttpRefusedError: where a URL, header or redirect is not let through; nothing was sent there.
            HttpTimeoutError: where the time is up.
            HttpTooLargeError: where the answer is larger than the limit.
            HttpError: where there is no whole answer for another reason.
            ValueError: for arguments that make no sense.
            TypeError: for arguments of another kind than they should be.
        """
        check_vet(vet)
        terms = Terms(
            timer=Timer(check_seconds(timeout_s), check_deadline(deadline)),
            max_bytes=self._max_bytes if max_bytes is None else check_count("max_bytes", max_bytes),
            max_redirects=self._max_redirects
            if max_redirects is None
            else check_count("max_redirects", max_redirects),
            vet=vet,
        )
        all_headers = {"User-Agent": self._user_agent, **check_mapping("headers", headers)}
        outgoing = read_outgoing(method=method, headers=all_headers, json=json, content=content)
        return self._fetcher.run(read_url(url, check_query(query)), outgoing, terms)

    async def afetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        json: JSONValue | EllipsisType = ...,
        content: bytes | None = None,
        timeout_s: float = 10.0,
        deadline: Deadline | None = None,
        max_bytes: int | None = None,
        max_redirects: int | None = None,
        vet: Vet | None = None,
    ) -> HttpResponse:
        """`fetch` on a thread of its own, arguments and errors the same; cancelled, it ends with its time."""
        from asyncio import wrap_future  # noqa: PLC0415 -- whoever awaits has it already

        within = check_seconds(timeout_s)
        deadline = check_deadline(deadline)
        run = partial(
            self.fetch,
            url,
            method=method,
            headers=headers,
            query=query,
            json=json,
            content=content,
            timeout_s=within,
            # from now on, not from when the thread begins
            deadline=Deadline.after(within) if deadline is None else deadline.within(within),
            max_bytes=max_bytes,
            max_redirects=max_redirects,
            vet=vet,
        )
        answer: Future[HttpResponse] = Future()
        # not on the loop's own few threads: a slow host would hold up whatever else waits for one
        Thread(target=_answer, args=(answer, copy_context(), run), name="toolhaft-fetch", daemon=True).start()
        return await wrap_future(answer)

    def __init_subclass__(cls) -> None:
        # a narrower one would be found under its own type only, and copied as this one: neither is narrow
        raise TypeError("HttpClient has no subclasses; set it up by its options")

    def __reduce__(self) -> tuple[Callable[[], HttpClient], tuple[()]]:
        """The same client in another process, if its own parts can go there."""
        return partial(HttpClient, **cast("dict[str, Any]", self._options)), ()


def http_of(context: ToolContext | None) -> HttpClient:
    """The client of a call: the resource HttpClient where one was given, else one that all calls share.

    Raises:
        ResourceError: where one was to be given and could not be made: no other may stand in for it.
    """
    if context is not None:
        try:
            return context.resources.get(HttpClient)
        except ResourceMissingError as error:
            if error.kind not in (None, HttpClient):  # what a factory of one would have needed
                raise
    return _shared()


def _answer(answer: Future[HttpResponse], context: Context, run: Callable[[], HttpResponse]) -> None:
    """Run a fetch for whoever awaits it, unless it was given up before it began."""
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(context.run(run))
    except BaseException as error:  # noqa: BLE001 -- whatever it is, it is raised where it is awaited
        answer.set_exception(error)


@cache
def _shared() -> HttpClient:
    return HttpClient()
