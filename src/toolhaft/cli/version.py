"""`version`: prints the versions of what is installed."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import click

from toolhaft.cli.output import print_data, print_json
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
"""The packages that each extra installs."""


def version_of(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@click.command("version", help="Print the version; with --json, also those of the extras.")
@json_option
def command(*, as_json: bool) -> None:
    """Print the versions."""
    own = version_of("toolhaft") or "unknown"
    if not as_json:
        print_data(f"toolhaft {own} (Python {platform.python_version()})")
        return
    extras = {
        extra: {package: version_of(package) for package in packages} for extra, packages in PACKAGES.items()
    }
    print_json({"toolhaft": own, "python": platform.python_version(), "extras": extras})
