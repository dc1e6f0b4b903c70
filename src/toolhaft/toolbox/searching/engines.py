"""Every engine by its name.

Does not know how a search is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolhaft.errors import DefinitionError
from toolhaft.schema.nearest import nearest
from toolhaft.toolbox.searching import bing, brave, ddgs, google, serpapi, tavily
from toolhaft.toolbox.searching.engine import Engine, RetiredEngine

ENGINES: Final[Mapping[str, Engine]] = MappingProxyType(
    {room.ENGINE.name: room.ENGINE for room in (brave, tavily, serpapi, google, ddgs, bing)}
)
LIVE: Final = tuple(name for name, engine in ENGINES.items() if not isinstance(engine, RetiredEngine))


def find_engine(name: str) -> Engine:
    """The engine of a name.

    Raises:
        DefinitionError: where there is none, naming the nearest and those that live.
    """
    engine = ENGINES.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- configs come from anywhere
    if engine is None:
        close = nearest(str(name), ENGINES)
        hint = f"did you mean {close!r}? There are" if close else "use one of"
        raise DefinitionError(
            f"no search engine {name!r:.80}", place="engine", fix=f"{hint} {', '.join(LIVE)}"
        )
    return engine
