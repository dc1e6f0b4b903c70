"""`python -m benchmarks GROUP [--json]`: one line per figure."""

import argparse
import json

from benchmarks import call, catalog, define, export, hostile, prompt, serve, shapes, toolbox
from benchmarks.measure import Figure

GROUPS = {
    "call": call.run,
    "catalog": catalog.run,
    "define": define.run,
    "export": export.run,
    "hostile": hostile.run,
    "prompt": prompt.run,
    "serve": serve.run,
    "shapes": shapes.run,
    "toolbox": toolbox.run,
}


def main() -> None:
    """Run one group of benchmarks and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args()
    for figure in GROUPS[options.group]():
        print(_as_json(figure) if options.json else _as_line(figure))


def _as_json(figure: Figure) -> str:
    return json.dumps(
        {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in figure._asdict().items()
        }
    )


def _as_line(figure: Figure) -> str:
    verdict = "" if figure.ratio <= figure.target else "  MISSED"
    times = f"{figure.us:10.3f}  limit {figure.limit_us:10.3f}"
    return f"{figure.case:38} {times}  ratio {figure.ratio:6.3f} of {figure.target}{verdict}"


if __name__ == "__main__":
    main()
