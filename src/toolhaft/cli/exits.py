"""The exit codes of the program, which scripts rely on.

Knows no errors; `errors` says which of them gets which code.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    """It was understood and tried, and did not work."""
    USAGE = 2
    """It was not understood: a wrong verb, option or argument."""
    CONFIGURATION = 3
    """A file, a setting or an extra that the command needs is missing or broken."""
    NETWORK = 4
    """A platform or an endpoint could not be reached, or gave no whole answer."""
    PERMISSION = 5
    """The platform, the tool's policy or the machine does not let this caller do it."""
    INTERRUPTED = 130
    """Ctrl-C."""
