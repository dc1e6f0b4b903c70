"""Measures a search among 5,000 tools, and whole catalogs of them, compared with a fixed time.

`search_5000` is a sentence as a model writes it, `short` two words, `long` a paragraph of very common words,
`filtered` the sentence with a tag and a share level.
"""

from benchmarks import cold_catalog
from benchmarks.catalog_tools import COUNT, make_listings
from benchmarks.measure import Figure, measure_fixed
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.search import SearchIndex

_LIMIT_US = 5000.0
_SENTENCE = "list all the files that somebody shared with me in the last week"
_SHORT = "convert currency"
_LONG = (
    "Use it when somebody asks to create, update, export or summarize every issue, message, file, customer, "
    "invoice, payment, event, report, user, comment, order or meeting there; it needs the query, the labels, "
    "the format, the owner and takes the limit at most"
)


def run() -> list[Figure]:
    """All figures of this group."""
    index = SearchIndex(make_listings(COUNT))
    assert index.search(_SHORT)[0].id == "convert_currency"
    assert index.search(_SENTENCE)[0].id.endswith("_share_file")

    def is_public_file(one: Listing) -> bool:
        return one.has(tag="file", share="public")

    return [
        measure_fixed("search_5000", lambda: index.search(_SENTENCE), _LIMIT_US),
        measure_fixed("search_5000_short", lambda: index.search(_SHORT), _LIMIT_US),
        measure_fixed("search_5000_long", lambda: index.search(_LONG), _LIMIT_US),
        measure_fixed(
            "search_5000_filtered", lambda: index.search(_SENTENCE, fits=is_public_file), _LIMIT_US
        ),
        *cold_catalog.run(),
    ]
