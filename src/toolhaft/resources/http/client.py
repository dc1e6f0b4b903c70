"""The guarded web client: fetches from public hosts, and from private hosts that are allowed by name."""

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
from toolhaft.errors import DefinitionError, HttpRefusedError, ResourceMissingError
from toolhaft.resources.http.access import HostRules, host_list
from toolhaft.resources.http.connect import Connector, Resolver, open_socket, system_resolver
from toolhaft.resources.http.request import CheckUrl, FetchLimits, FetchTimer, build_request, check_headers
from toolhaft.resources.http.response import HttpResponse
from toolhaft.resources.http.urls import parse_url
from toolhaft.schema.json_value import JSONValue

TYPE_CHECKING = False  # `ssl` is slow to import, and not needed to name the client
if TYPE_CHECKING:
    import ssl

_LONGEST_S: Final = 86_400
DEFAULT_BYTES: Final = 5_000_000
DEFAULT_REDIRECTS: Final = 5


class HttpClient:
    """Fetches untrusted URLs: only from public hosts, with limits for size and time.

    The addresses of a host are checked just before connecting, and the connection goes to a checked address.
    Proxies, cookies and passwords of the environment are not used. A client is safe to use from many threads.

    Args:
        allow: hosts that may be reached although they are not public, such as "localhost:8080"; without a
            port, on all ports. An allowed name may resolve to any address; an allowed
            address permits only that address.
        only: if given, no other host may be reached, even if it is in `allow`; "*.example.com" means all
            its subdomains. An empty list allows no host.
        user_agent: the User-Agent header; by default toolhaft and its version.
        max_bytes: the largest body, compressed and decompressed.
        max_redirects: how many are followed; with 0 the redirect itself is the response.
        resolver: looks up the addresses of a host; by default the operating system.
        tls: how certificates are verified; by default against those of the operating system.
        connector: opens a socket to a checked address, for tests.

    Raises:
        DefinitionError: for an entry that is not a host, or a limit that is not a number.
        ImportError: if the packages of `toolhaft[web]` are missing.
    """

    __slots__ = ("_follower", "_max_bytes", "_max_redirects", "_options", "_user_agent")

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
        from toolhaft.resources.http.fetching import RedirectFollower  # noqa: PLC0415 -- slow, and its packages may be missing

        # converted once: they may be iterators
        allow, only = host_list("allow", allow), None if only is None else host_list("only", only)
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
        self._user_agent = check_user_agent(default_user_agent() if user_agent is None else user_agent)
        self._max_bytes = check_count("max_bytes", max_bytes)
        self._max_redirects = check_count("max_redirects", max_redirects)
        self._follower = RedirectFollower(
            HostRules(allow, only), resolver or system_resolver, connector or open_socket, tls
        )

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
        vet: CheckUrl | None = None,
    ) -> HttpResponse:
        """Send a request, follow redirects, and read the complete response, whatever its status.

        Args:
            url: http or https, without a user or password.
            method: in upper case.
            headers: after a redirect to another origin only Accept, Accept-Language and User-Agent are sent.
            query: parameters to encode and add to the URL.
            json: a body to send as JSON.
            content: a body to send unchanged.
            timeout_s: for everything: lookup, connection, redirects and reading the body.
            deadline: an additional time limit; the earlier one applies.
            max_bytes: instead of that of the client.
            max_redirects: instead of that of the client.
            vet: called with each URL before it is requested, redirects included; may raise to stop the fetch.

        Raises:
            HttpRefusedError: if a URL, header or redirect is not allowed; nothing was sent there.
            HttpTimeoutError: if the time is up.
            HttpTooLargeError: if the response exceeds the limit.
            HttpError: if there is no complete response for another reason.
            ValueError: for invalid arguments.
            TypeError: for arguments of the wrong type.
        """
        if vet is not None and not callable(vet):
            raise TypeError(f"vet is a function that is called with a URL, not {vet!r:.40}")
        limits = FetchLimits(
            timer=FetchTimer(check_seconds(timeout_s), check_deadline(deadline)),
            max_bytes=self._max_bytes if max_bytes is None else check_count("max_bytes", max_bytes),
            max_redirects=self._max_redirects
            if max_redirects is None
            else check_count("max_redirects", max_redirects),
            check_url=vet,
        )
        all_headers = {"User-Agent": self._user_agent, **check_mapping("headers", headers)}
        outgoing = build_request(method=method, headers=all_headers, json=json, content=content)
        return self._follower.run(parse_url(url, check_query(query)), outgoing, limits)

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
        vet: CheckUrl | None = None,
    ) -> HttpResponse:
        """`fetch` on a separate thread; if cancelled, the thread ends at its time limit."""
        from asyncio import wrap_future  # noqa: PLC0415 -- an async caller has imported it already

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
            # starts now, not when the thread starts
            deadline=Deadline.after(within) if deadline is None else deadline.within(within),
            max_bytes=max_bytes,
            max_redirects=max_redirects,
            vet=vet,
        )
        result: Future[HttpResponse] = Future()
        # not on the default executor of the loop: slow hosts would occupy its few threads
        Thread(
            target=_run_fetch, args=(result, copy_context(), run), name="toolhaft-fetch", daemon=True
        ).start()
        return await wrap_future(result)

    def __init_subclass__(cls) -> None:
        # a stricter subclass would be copied to other processes as HttpClient, without its checks
        raise TypeError("HttpClient cannot be subclassed; configure it with its arguments")

    def __reduce__(self) -> tuple[Callable[[], HttpClient], tuple[()]]:
        """Recreate the client in another process, if its arguments can be pickled."""
        return partial(HttpClient, **cast("dict[str, Any]", self._options)), ()


def http_of(context: ToolContext | None) -> HttpClient:
    """The client of a call: its HttpClient resource if there is one, else a shared default client.

    Raises:
        ResourceError: if it cannot be created; the default client is not used then, as it may be less strict.
    """
    if context is not None:
        try:
            return context.resources.get(HttpClient)
        except ResourceMissingError as error:
            if error.kind not in (None, HttpClient):  # one that its factory needs is missing
                raise
    return _shared()


@cache
def _shared() -> HttpClient:
    return HttpClient()


def _run_fetch(result: Future[HttpResponse], context: Context, run: Callable[[], HttpResponse]) -> None:
    """Run a fetch and set its result, unless it was cancelled before it began."""
    if not result.set_running_or_notify_cancel():
        return
    try:
        result.set_result(context.run(run))
    except BaseException as error:  # noqa: BLE001 -- raised in the awaiting task
        result.set_exception(error)


@cache
def default_user_agent() -> str:
    """The User-Agent header: name and version; only the name if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 -- slow, and rarely needed

    try:
        return f"toolhaft/{version('toolhaft')}"
    except PackageNotFoundError:
        return "toolhaft"


def check_user_agent(user_agent: str) -> str:
    """Check the User-Agent header of a client.

    Raises:
        DefinitionError: if it is not valid in a header.
    """
    try:
        return check_headers({"User-Agent": user_agent})["user-agent"]
    except HttpRefusedError as error:
        raise DefinitionError(str(error), place="user_agent") from None


def check_parts(resolver: object, connector: object, tls: object) -> None:
    """Check the types of the replaceable parts of a client.

    Raises:
        DefinitionError: the message names the argument.
    """
    for name, part in (("resolver", resolver), ("connector", connector)):
        if part is not None and not callable(part):
            raise DefinitionError(f"a function is expected, not {part!r:.40}", place=name)
    if tls is not None and not hasattr(tls, "wrap_bio"):
        raise DefinitionError(
            f"an ssl.SSLContext is expected, not {tls!r:.40}",
            place="tls",
            fix="omit it: certificates are always verified",
        )


def check_count(name: str, value: int) -> int:
    """Check a limit.

    Raises:
        DefinitionError: if it is not an integer of at least 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise DefinitionError(f"an integer of at least 0 is expected, not {value!r:.40}", place=name)
    return value


def check_seconds(value: float) -> float:
    """Check a time limit.

    Raises:
        DefinitionError: if it is not a number of seconds up to one day.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
    if not is_number or not 0 < value <= _LONGEST_S:
        raise DefinitionError(f"seconds, more than 0 and at most a day, not {value!r:.40}", place="timeout_s")
    return value


def check_deadline(value: Deadline | None) -> Deadline | None:
    """Check a deadline.

    Raises:
        TypeError: for anything else, such as a number of seconds.
    """
    if value is not None and not isinstance(value, Deadline):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(
            f"deadline is a Deadline, not {value!r:.40}; "
            "for a number of seconds write timeout_s=5 or deadline=Deadline.after(5)"
        )
    return value


def check_mapping(name: str, value: Mapping[str, str] | None) -> Mapping[str, str]:
    """Check a mapping of texts; None becomes an empty one. Messages omit the values: they may be secret.

    Raises:
        TypeError: for anything else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(f"{name} is a mapping, such as {{'name': 'text'}}, not {type(value).__name__}")
    return value


def check_query(query: Mapping[str, str] | None) -> Mapping[str, str]:
    """Check query parameters.

    Raises:
        TypeError: for values that are not text; a URL would get their Python repr.
    """
    for name, text in check_mapping("query", query).items():
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"the name of a query parameter is text, not {name!r:.40}")
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(
                f"the query parameter {name[:40]!a} is text, not {type(text).__name__}; "
                "convert it to text, or omit it"
            )
    return query or {}
