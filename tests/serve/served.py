"""Serves a platform with the settings in its first argument, and prints its address and key."""

import json
import sys

from toolhaft.serve import Settings, run

if __name__ == "__main__":
    run(
        Settings(**json.loads(sys.argv[1])),
        on_start=lambda started: print(json.dumps({"url": started.url, "key": started.key}), flush=True),  # noqa: T201 -- how it tells
    )
