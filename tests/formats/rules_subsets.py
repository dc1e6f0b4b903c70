"""What each provider documents about tool schemas, as data for the linters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

_SEVEN: Final = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_ROOT_UNIONS: Final = frozenset(("oneOf", "anyOf", "allOf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a server takes; by default any JSON Schema whose root is an object."""

    keywords: frozenset[str] | None = None
    types: frozenset[str] | None = _SEVEN
    type_lists: bool = True
    booleans: bool = True
    anything: bool = True
    root_banned: frozenset[str] = frozenset()
    root_keys: str | None = None
    flat_properties: frozenset[str] | None = None
    """The only words that a parameter may say of itself."""
    anchors: bool = True
    defs_only: bool = False
    ref_siblings: bool = True
    recursion: Literal["any", "optional", "none"] = "any"
    closed: bool = False
    all_required: bool = False
    some_required: bool = False
    required_known: bool = False
    properties_needed: bool = False
    words_by_type: bool = False
    items_needed: bool = False
    min_items: int | None = None
    enum_types: frozenset[type] | None = None
    enum_words: bool = False
    formats: frozenset[str] | None = None
    formats_by_type: bool = False
    """Whether a format may stand only on its own type."""
    plain_patterns: bool = False
    unanchored: bool = False
    all_of_without_refs: bool = False
    deepest: int | None = None
    most_properties: int | None = None
    most_enum_values: int | None = None
    most_enum_chars: int | None = None
    most_name_chars: int | None = None
    most_optional: int | None = None
    most_unions: int | None = None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NINE_FORMATS: Final = _words("date-time time date duration email hostname ipv4 ipv6 uuid")
_SHAPE: Final = "$defs $ref additionalProperties anyOf description enum items properties required title type"

_OPENAI: Final = Rules(root_banned=_ROOT_UNIONS | {"enum", "const", "not"})
_OPENAI_STRICT: Final = replace(
    _OPENAI,
    keywords=_words(
        f"{_SHAPE} const exclusiveMaximum exclusiveMinimum format maxItems maximum minItems minimum multipleOf pattern"
    ),
    booleans=False,
    anything=False,
    anchors=False,
    ref_siblings=False,
    closed=True,
    all_required=True,
    items_needed=True,
    formats=_NINE_FORMATS,
    plain_patterns=True,
    deepest=10,
    most_properties=5000,
    most_enum_values=1000,
    most_enum_chars=15_000,
    most_name_chars=120_000,
)
_ANTHROPIC: Final = Rules(root_banned=_ROOT_UNIONS, root_keys="[a-zA-Z0-9_.-]{1,64}")
_ANTHROPIC_STRICT: Final = replace(
    _ANTHROPIC,
    keywords=_words(f"{_SHAPE} allOf const default format minItems pattern"),
    booleans=False,
    anything=False,
    anchors=False,
    recursion="none",
    closed=True,
    min_items=1,
    enum_types=frozenset((str, int, float, bool, type(None))),
    formats=_NINE_FORMATS | {"uri"},
    plain_patterns=True,
    all_of_without_refs=True,
    most_optional=24,
    most_unions=16,
)
_GEMINI_JSON: Final = Rules(
    keywords=_words(
        f"{_SHAPE} $anchor $id default format maxItems maxLength maximum minItems minLength minimum oneOf pattern"
        " prefixItems propertyOrdering uniqueItems"
    ),
    booleans=False,
    ref_siblings=False,
    recursion="optional",
    enum_types=frozenset((str, int, float)),
)
_GEMINI_PARAMETERS: Final = Rules(
    keywords=_words(
        "anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems"
        " minLength minProperties minimum nullable pattern properties propertyOrdering required title type"
    ),
    types=_SEVEN - {"null"},
    type_lists=False,
    booleans=False,
    anything=False,
    required_known=True,
    words_by_type=True,
    items_needed=True,
    enum_types=frozenset((str,)),
    enum_words=True,
    formats=_words("enum date-time float double int32 int64"),
    formats_by_type=True,
)
_COHERE_STRICT: Final = Rules(
    keywords=_words(f"{_SHAPE} const default format pattern"),
    booleans=False,
    some_required=True,
    formats=_words("date-time uuid date time"),
    unanchored=True,
    most_properties=200,
)
_OLLAMA: Final = Rules(
    keywords=None,
    flat_properties=_words("type items description enum"),
)
_ANY: Final = Rules()

SUBSETS: Final[dict[tuple[str, str, bool], Rules]] = {
    ("openai_chat", "", False): _OPENAI,
    ("openai_chat", "", True): _OPENAI_STRICT,
    ("openai_responses", "", False): _OPENAI,
    ("openai_responses", "", True): _OPENAI_STRICT,
    ("anthropic", "", False): _ANTHROPIC,
    ("anthropic", "", True): _ANTHROPIC_STRICT,
    ("bedrock", "boto3", False): _ANY,
    ("bedrock", "boto3", True): _ANTHROPIC_STRICT,
    ("bedrock", "http", False): _ANY,
    ("bedrock", "http", True): _ANTHROPIC_STRICT,
    ("gemini", "parametersJsonSchema", False): _GEMINI_JSON,
    ("gemini", "parameters", False): _GEMINI_PARAMETERS,
    ("mistral", "", False): _ANY,
    ("mistral", "", True): _OPENAI_STRICT,
    ("cohere", "", False): _ANY,
    ("cohere", "", True): _COHERE_STRICT,
    ("ollama", "", False): _OLLAMA,
    ("mcp", "2025-06-18", False): _ANY,
    ("mcp", "2025-11-25", False): _ANY,
    ("mcp", "2026-07-28", False): _ANY,
    ("native", "", False): _ANY,
}
