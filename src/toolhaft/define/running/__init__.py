"""How a tool from a YAML file runs: an HTTP request, a program, a Python function or an endpoint."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.define.running.environment import Environment as Environment
    from toolhaft.define.running.platform_access import HOPS as HOPS
    from toolhaft.define.running.platform_access import PlatformAccess as PlatformAccess
    from toolhaft.define.running.platform_access import hop_token as hop_token
    from toolhaft.define.running.platform_access import read_hops as read_hops
    from toolhaft.define.running.platform_settings import DEFAULT_URL as DEFAULT_URL
    from toolhaft.define.running.run_block import RunSpec as RunSpec

_HOMES = {
    "DEFAULT_URL": "platform_settings",
    "Environment": "environment",
    "HOPS": "platform_access",
    "PlatformAccess": "platform_access",
    "RunSpec": "run_block",
    "hop_token": "platform_access",
    "read_hops": "platform_access",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
