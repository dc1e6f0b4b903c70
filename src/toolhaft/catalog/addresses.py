"""One spelling for an address, so that the same place is known however it is written, and whose it is.

Knows how URLs are read and where a platform runs its tools; does not know the tools.
"""

from __future__ import annotations

import re
from typing import Final

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.places import read_url

RUN_PATH: Final = "/v3/tool/"
"""What stands between a platform's address and the id of a tool that is run there."""
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


def id_at(platform_url: str, endpoint: str | None) -> str | None:
    """The id that an endpoint of a platform names; None where it is not one of that platform's.

    An endpoint that is a path alone is on every platform: where a platform stands is not kept with its tools.
    """
    if not endpoint or "#" in endpoint:
        return None
    start = "" if endpoint.startswith(RUN_PATH) else one_spelling(platform_url)
    place = one_spelling(endpoint)
    id = place.removeprefix(f"{start}{RUN_PATH}")
    return None if id == place or not id or "/" in id or "?" in id else id


def moved(text: str, id: str, *, old_url: str, new_url: str) -> str | None:
    """The YAML text of a tool as it is where its platform stands now; None where the line is not found."""
    line = re.compile(
        rf"""^(endpoint:[ ]*["']?){re.escape(old_url + RUN_PATH + id)}(?=["']?[ ]*(?:\#.*)?\r?$)""",
        re.MULTILINE,
    )
    made, found = line.subn(lambda said: f"{said[1]}{new_url}{RUN_PATH}{id}", text, count=1)
    return made if found else None
