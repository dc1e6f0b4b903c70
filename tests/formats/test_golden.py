"""The export of the catalogue in every format, compared with files that people have read.

`TOOLHAFT_GOLDEN=write` in the environment rewrites them; read what changed.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.cases import each_case
from tests.formats.golden_text import golden_text
from tests.formats.variants import VARIANTS
from toolhaft.formats import FORMATS
from toolhaft.formats.registry import get_format

_FILES = Path(__file__).parent / "golden"


@each_case("format", FORMATS)
def test_the_exported_catalogue_equals_the_golden_file(format):
    made, file = golden_text(format), _FILES / f"{format}.txt"
    if os.environ.get("TOOLHAFT_GOLDEN") == "write":
        file.write_text(made, encoding="utf-8")

    assert made == file.read_text(encoding="utf-8")


def test_every_format_dialect_and_strictness_is_among_the_variants():
    known = {
        (format, dialect, strict)
        for format in FORMATS
        for dialect in get_format(format).dialects
        for strict in ((False, True) if get_format(format).has_strict else (False,))
    }

    assert known == set(VARIANTS)


def test_every_golden_file_belongs_to_a_format():
    assert sorted(file.stem for file in _FILES.iterdir()) == sorted(FORMATS)
