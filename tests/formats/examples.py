"""How many random examples a property test runs: few in `make check`, many in `make soak`."""

import os

from hypothesis import settings

_LONG = 20 if os.environ.get("TOOLHAFT_LONG") else 1


def examples(number: int) -> settings:
    """Settings for this number of examples, or twenty times as many in long runs."""
    return settings(max_examples=number * _LONG, deadline=None)
