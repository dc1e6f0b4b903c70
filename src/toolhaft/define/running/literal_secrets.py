"""Finds secrets that are written literally in a definition: credentials, and known kinds of tokens."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, cast

from toolhaft.define.running.parameters import RunProblems
from toolhaft.define.running.template import StringTemplate
from toolhaft.schema.json_value import ValuePath

_CREDENTIAL_NAMES: Final = re.compile(
    r"authorization|cookie|(^|[-_])auth($|[-_])|api[-_]?key|access[-_]?key|(^|[-_])key($|[-_])"
    r"|token|secret|passw|passphrase|passcode|(^|[-_])pass($|[-_])|(^|[-_])pwd?($|[-_])|(^|[-_])pat($|[-_])"
    r"|credential|session[-_]?id|signature",
    re.IGNORECASE,
)
_TOKENS: Final = (
    r"(?<![A-Za-z0-9_-])(?:"  # only at the beginning of a word, which bounds the time of the search
    r"sk-[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abposr]-[A-Za-z0-9-]{10,}"
    r"|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{16,}|th_[0-9a-f]{8}_[A-Za-z0-9_-]{20,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|-----BEGIN [A-Z ]*PRIVATE KEY"
    r")"
)
_KNOWN: Final = re.compile(rf"{_TOKENS}|\b(?:Bearer|Basic)\s+[A-Za-z0-9+/_.=-]{{16,}}")
_IN_PROSE: Final = re.compile(
    rf"{_TOKENS}|\b(?:Bearer|Basic)\s+(?=[^\s\d=]{{0,200}}[\d=])[A-Za-z0-9+/_.=-]{{16,}}"
)
"""For prose: the word after `Bearer` or `Basic` must contain a digit or `=`, unlike internationalization."""
_WITHOUT_LITERALS: Final = re.compile(
    r"(?:(?:Bearer|Basic|Token|Api-?Key|Key|Digest|Bot|JWT|OAuth|SSWS|GenieKey|DPoP|Splunk)(?=[\s:=\0]))?"
    r"(?:[\s:,;\"']*+(?:[\w.-]{1,64}=[\s\"']*+)?\0)++[\s:,;\"']*+",
    re.IGNORECASE,
)
"""A credentials header whose values are all placeholders (NUL), with a scheme, names and punctuation."""
_HARMLESS_COOKIE: Final = re.compile(
    r"(?!\w*(?:sess|sid|auth|tok|key|sec|pass))[\w.-]{1,64}=[A-Za-z]{1,12}", re.IGNORECASE
)
_QUERY_PAIR: Final = re.compile(r"[?&]([^=&#?]+)=([^&#]*)")
_PLACEHOLDER: Final = re.compile(r"\$\{[^{}]*\}")
_SHORTEST: Final = 6
_LONGEST_WORD: Final = 20
_FIX: Final = "put it in the environment or .env and write ${env:NAME}"


def is_credential_name(name: str) -> bool:
    """True if the name of a header or variable suggests credentials."""
    return _CREDENTIAL_NAMES.search(name) is not None


def looks_secret(text: str) -> bool:
    """True if a header or URL contains a token of a known kind."""
    return _KNOWN.search(text) is not None


def check_header_secret(name: str, value: StringTemplate, place: ValuePath, problems: RunProblems) -> None:
    """Report a secret that is written literally in a header."""
    has_literal = is_credential_name(name) and not _WITHOUT_LITERALS.fullmatch(_with_marks(name, value))
    if has_literal or looks_secret(value.literal):
        problems.add(place, f"literal secret in the header {name!r:.80}", _FIX)


def _with_marks(name: str, value: StringTemplate) -> str:
    """Write a header with a NUL for each placeholder, and without harmless cookies such as theme=dark."""
    text = "".join(part if isinstance(part, str) else "\0" for part in value.parts)
    if name.lower() != "cookie":
        return text
    pairs = text.split(";")
    return ";".join(pair for pair in pairs if not _HARMLESS_COOKIE.fullmatch(pair.strip())) or "x"


def has_token(text: str) -> bool:
    """True if any text, such as an argument or a default, contains a token of a known kind."""
    return _IN_PROSE.search(text) is not None


def has_token_in(value: object) -> bool:
    """True if any text or key in a JSON value contains a token of a known kind."""
    if isinstance(value, str):
        return has_token(value)
    if isinstance(value, list):
        return any(map(has_token_in, cast("list[object]", value)))
    if isinstance(value, dict):
        return any(map(has_token_in, chain(*cast("dict[str, object]", value).items())))
    return False


def is_secret_in_query(name: str, literal: str) -> bool:
    """True if a query value is a secret: a known token, or under a credential name and not a plain word."""
    if looks_secret(literal):
        return True
    is_word = not any(map(str.isdigit, literal)) and len(literal) < _LONGEST_WORD
    return is_credential_name(name) and len(literal) >= _SHORTEST and not is_word


def has_secret_query(url: str) -> bool:
    """True if the query of a URL, which may have placeholders, contains a literal secret."""
    return any(
        is_secret_in_query(name, _PLACEHOLDER.sub("", text)) for name, text in _QUERY_PAIR.findall(url)
    )
