"""A web client that reaches only public hosts, with limits for size and time."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.resources.http.client import HttpClient as HttpClient
    from toolhaft.resources.http.client import http_of as http_of
    from toolhaft.resources.http.response import HttpResponse as HttpResponse

_HOMES = {"HttpClient": "client", "HttpResponse": "response", "http_of": "client"}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
