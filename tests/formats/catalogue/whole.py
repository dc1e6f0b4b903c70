"""The catalogue: every tool, in the order of the golden files."""

from __future__ import annotations

from typing import Final

from tests.formats.catalogue import named, objects, refs, scalars, typed, unions
from tests.formats.catalogue.case import Case

CASES: Final[tuple[Case, ...]] = (
    *named.CASES,
    *objects.CASES,
    *scalars.CASES,
    *unions.CASES,
    *refs.CASES,
    *typed.CASES,
)
BY_NAME: Final = {case.name: case for case in CASES}
