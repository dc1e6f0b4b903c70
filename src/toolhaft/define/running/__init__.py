"""How a tool from a file is run: a request, a program, a Python function, or an endpoint elsewhere."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.define.running.access import PlatformAccess as PlatformAccess
    from toolhaft.define.running.environment import Environment as Environment
    from toolhaft.define.running.settings import DEFAULT_URL as DEFAULT_URL
    from toolhaft.define.running.spec import RunSpec as RunSpec
    from toolhaft.define.running.trail import TRAIL as TRAIL
    from toolhaft.define.running.trail import read_trail as read_trail
    from toolhaft.define.running.trail import token_of as token_of

_HOMES = {
    "DEFAULT_URL": "settings",
    "TRAIL": "trail",
    "Environment": "environment",
    "PlatformAccess": "access",
    "RunSpec": "spec",
    "read_trail": "trail",
    "token_of": "trail",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
