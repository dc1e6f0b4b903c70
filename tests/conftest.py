"""Settings of all tests: Hypothesis searches at random on a developer's machine, and repeats itself in CI."""

import gc
import os

from hypothesis import settings

# a case has no time limit of its own: machines are shared, and speed is measured in benchmarks/
settings.register_profile("exploring", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "exploring")


def pytest_collection_finish() -> None:
    """Spare the garbage collector the collected tests: it takes a tenth less time."""
    gc.collect()
    gc.freeze()
