"""One spelling for an address, so that the same place is known however it is written.

Knows how URLs are read; does not know platforms or tools.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.places import read_url

# The dot that ends a whole name says nothing more of where it is.
_LAST_DOT: Final = re.compile(
    r"(?P<name>[a-z][a-z0-9+.-]*://[^/?#:@\[\]]*[^/?#:@\[\].])\.(?=[:/?#]|$)", re.IGNORECASE
)


def one_spelling(url: str) -> str:
    """A URL with scheme and host in lower case, no dot after the host, no usual port, no slash at its end.

    What cannot be read as a URL stays as it is: it is nobody's address.
    """
    try:
        place = read_url(_LAST_DOT.sub(r"\g<name>", url, count=1))
    except HttpRefusedError:
        return url.rstrip("/")
    return place.url.rstrip("/")
