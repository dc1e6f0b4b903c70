"""The command line, one file a verb."""

from toolhaft.cli.main import main

__all__ = ["main"]
