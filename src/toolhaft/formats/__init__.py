"""Wires: tools out, calls in, results back, in every provider's format, with every loss told."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.formats.choices import Choice as Choice
    from toolhaft.formats.losses import Loss as Loss
    from toolhaft.formats.losses import Refusal as Refusal
    from toolhaft.formats.registry import FORMATS as FORMATS
    from toolhaft.formats.verbs.calls import decode_calls as decode_calls
    from toolhaft.formats.verbs.calls import encode_calls as encode_calls
    from toolhaft.formats.verbs.descriptions import describe as describe
    from toolhaft.formats.verbs.encoded import Encoded as Encoded
    from toolhaft.formats.verbs.exports import Export as Export
    from toolhaft.formats.verbs.exports import export_tools as export_tools
    from toolhaft.formats.verbs.imports import import_tools as import_tools
    from toolhaft.formats.verbs.results import encode_results as encode_results
    from toolhaft.formats.verbs.streams import StreamDecoder as StreamDecoder
    from toolhaft.formats.verbs.tokens import estimate_tokens as estimate_tokens

_HOMES = {
    "Choice": "choices",
    "Encoded": "verbs.encoded",
    "Export": "verbs.exports",
    "FORMATS": "registry",
    "Loss": "losses",
    "Refusal": "losses",
    "StreamDecoder": "verbs.streams",
    "decode_calls": "verbs.calls",
    "describe": "verbs.descriptions",
    "encode_calls": "verbs.calls",
    "encode_results": "verbs.results",
    "estimate_tokens": "verbs.tokens",
    "export_tools": "verbs.exports",
    "import_tools": "verbs.imports",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
