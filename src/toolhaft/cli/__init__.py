"""The command line, one file per verb."""

from toolhaft.cli.main import main

__all__ = ["main"]
