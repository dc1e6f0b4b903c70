"""The platform over HTTP: publishes, finds and runs tools."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.serve.app import create_app as create_app
    from toolhaft.serve.keys import KeyInfo as KeyInfo
    from toolhaft.serve.keys import Keys as Keys
    from toolhaft.serve.server import Started as Started
    from toolhaft.serve.server import run as run
    from toolhaft.serve.settings import Settings as Settings

_HOMES = {
    "KeyInfo": "keys",
    "Keys": "keys",
    "Settings": "settings",
    "Started": "server",
    "create_app": "app",
    "run": "server",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
