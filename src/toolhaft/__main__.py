"""`python -m toolhaft`: the command line without its script."""

import os
import sys


def _leave_current_folder() -> None:
    """Undo what `python -m` does: import from the current folder first, where email.py may be anybody's."""
    try:
        folder = os.getcwd()  # noqa: PTH109 -- nothing may be imported yet
    except OSError:  # it was deleted
        return
    if not sys.flags.safe_path and sys.path[:1] == [folder]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()
    from toolhaft.cli import main

    main()
