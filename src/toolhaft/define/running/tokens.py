"""Knows a secret where it sees one: headers that carry credentials, and texts that look like known tokens.

Never tells the text that it found.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.define.running.faults import Faults, Place
from toolhaft.define.running.template import Template

_CARRIERS: Final = re.compile(
    r"authorization|cookie|(^|[-_])auth($|[-_])|api[-_]?key|access[-_]?key|(^|[-_])key($|[-_])"
    r"|token|secret|passw|credential|session[-_]?id|signature",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"  # at the beginning of a word only, so that no text takes long to search
    r"sk-[A-Za-z0-9_-]{16,}|[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abposr]-[A-Za-z0-9-]{10,}"
    r"|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{16,}|th_[0-9a-f]{8}_[A-Za-z0-9_-]{20,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|-----BEGIN [A-Z ]*PRIVATE KEY"
    r")|\b(?:Bearer|Basic)\s+[A-Za-z0-9+/_.=-]{16,}"
)
_SCHEMES: Final = re.compile(r"(?:Bearer|Basic|Token|ApiKey|Key|Digest)?[\s:=,;\"']*", re.IGNORECASE)
_FIX: Final = "put it in the environment or .env and write ${env:NAME}"


def is_credential_name(name: str) -> bool:
    """True for a header or variable that carries credentials, by its name."""
    return _CARRIERS.search(name) is not None


def looks_secret(text: str) -> bool:
    """True if a text has a token of a known kind in it."""
    return _KNOWN.search(text) is not None


def check_header_secret(name: str, value: Template, place: Place, faults: Faults) -> None:
    """Note a secret that stands in a header itself."""
    is_bare = is_credential_name(name) and not value.variables and not _is_harmless(value)
    if is_bare or looks_secret(value.literal):
        faults.add(place, f"literal secret in the header {name!r:.80}", _FIX)


def _is_harmless(value: Template) -> bool:
    """True where all but a scheme's word comes from a parameter, which the caller then knows anyway."""
    return bool(value.names) and _SCHEMES.fullmatch(value.literal) is not None
