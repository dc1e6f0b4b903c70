"""`version`: what is installed.

Does not know whether it works; `doctor` looks.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import click

from toolhaft.cli.output import say, say_json
from toolhaft.cli.shell import json_option

PACKAGES: Final = {
    "cli": ("click", "rich", "ruamel.yaml"),
    "yaml": ("ruamel.yaml",),
    "serve": ("httptools", "ruamel.yaml", "starlette", "uvicorn"),
    "web": ("httpcore2", "idna", "protego", "selectolax"),
    "postgres": ("psycopg",),
    "otel": ("opentelemetry-api",),
    "readable": ("trafilatura",),
    "ddgs": ("ddgs",),
}
"""What each extra brings."""


def version_of(package: str) -> str | None:
    """The version that is installed; None where it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@click.command("version", help="Print the version; --json tells the extras too.")
@json_option
def command(*, as_json: bool) -> None:
    """Print what is installed."""
    own = version_of("toolhaft") or "unknown"
    if not as_json:
        say(f"toolhaft {own} (Python {platform.python_version()})")
        return
    extras = {
        extra: {package: version_of(package) for package in packages} for extra, packages in PACKAGES.items()
    }
    say_json({"toolhaft": own, "python": platform.python_version(), "extras": extras})
