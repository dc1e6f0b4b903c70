"""Knows a secret where it sees one: headers that carry credentials, and texts that look like known tokens.

Never tells the text that it found.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final, cast

from toolhaft.define.running.faults import Faults, Place
from toolhaft.define.running.template import Template

_CARRIERS: Final = re.compile(
    r"authorization|cookie|(^|[-_])auth($|[-_])|api[-_]?key|access[-_]?key|(^|[-_])key($|[-_])"
    r"|token|secret|passw|passphrase|passcode|(^|[-_])pass($|[-_])|(^|[-_])pwd?($|[-_])|(^|[-_])pat($|[-_])"
    r"|credential|session[-_]?id|signature",
    re.IGNORECASE,
)
_TOKENS: Final = (
    r"(?<![A-Za-z0-9_-])(?:"  # at the beginning of a word only, so that no text takes long to search
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
"""The same where any text may stand: 'Basic internationalization' is no password."""
_AROUND: Final = re.compile(
    r"(?:(?:Bearer|Basic|Token|Api-?Key|Key|Digest|Bot|JWT|OAuth|SSWS|GenieKey|DPoP|Splunk)(?=[\s:=\0]))?"
    r"(?:[\s:,;\"']*+(?:[\w.-]{1,64}=[\s\"']*+)?\0)++[\s:,;\"']*+",
    re.IGNORECASE,
)
"""What may stand around the places of a header that carries credentials: a scheme, names, and marks."""
_WORDY: Final = re.compile(
    r"(?!\w*(?:sess|sid|auth|tok|key|sec|pass))[\w.-]{1,64}=[A-Za-z]{1,12}", re.IGNORECASE
)
_PAIR: Final = re.compile(r"[?&]([^=&#?]+)=([^&#]*)")
_PLACE: Final = re.compile(r"\$\{[^{}]*\}")
_SHORTEST: Final = 6
_LONGEST_WORD: Final = 20
_FIX: Final = "put it in the environment or .env and write ${env:NAME}"


def is_credential_name(name: str) -> bool:
    """True for a header or variable that carries credentials, by its name."""
    return _CARRIERS.search(name) is not None


def looks_secret(text: str) -> bool:
    """True if a text has a token of a known kind in it."""
    return _KNOWN.search(text) is not None


def check_header_secret(name: str, value: Template, place: Place, faults: Faults) -> None:
    """Note a secret that stands in a header itself."""
    is_bare = is_credential_name(name) and not _AROUND.fullmatch(_marked(name, value))
    if is_bare or looks_secret(value.literal):
        faults.add(place, f"literal secret in the header {name!r:.80}", _FIX)


def _marked(name: str, value: Template) -> str:
    """A header with marks for its places, and without cookies that are plain words, such as theme=dark."""
    text = "".join(part if isinstance(part, str) else "\0" for part in value.parts)
    if name.lower() != "cookie":
        return text
    pairs = text.split(";")
    return ";".join(pair for pair in pairs if not _WORDY.fullmatch(pair.strip())) or "x"


def has_token(text: str) -> bool:
    """True if a text of any kind, such as an argument or a default, has a token of a known kind in it."""
    return _IN_PROSE.search(text) is not None


def has_token_in(value: object) -> bool:
    """The same for every text in a JSON value, its keys among them."""
    if isinstance(value, str):
        return has_token(value)
    if isinstance(value, list):
        return any(map(has_token_in, cast("list[object]", value)))
    if isinstance(value, dict):
        return any(map(has_token_in, chain(*cast("dict[str, object]", value).items())))
    return False


def is_secret_in_query(name: str, literal: str) -> bool:
    """True for a literal value in a query that is a secret: by its kind, or by its name, words apart."""
    if looks_secret(literal):
        return True
    is_word = not any(map(str.isdigit, literal)) and len(literal) < _LONGEST_WORD
    return is_credential_name(name) and len(literal) >= _SHORTEST and not is_word


def has_secret_query(url: str) -> bool:
    """True if the query of a URL, which may have places for parameters, has a literal secret in it."""
    return any(is_secret_in_query(name, _PLACE.sub("", text)) for name, text in _PAIR.findall(url))
