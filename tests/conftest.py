"""Settings of all tests: Hypothesis searches at random on a developer's machine, and repeats itself in CI."""

import atexit
import gc
import os
import shutil
import signal
import tempfile

from hypothesis import settings

# a case has no time limit of its own: machines are shared, and speed is measured in benchmarks/
settings.register_profile("exploring", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("quick", deadline=None, max_examples=20)
# the key of file journals: not the one of the developer
if "TOOLHAFT_STATE" not in os.environ:
    os.environ["TOOLHAFT_STATE"] = tempfile.mkdtemp(prefix="toolhaft-state-")
    atexit.register(shutil.rmtree, os.environ["TOOLHAFT_STATE"], ignore_errors=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "exploring")

# no test reads the keys of whoever runs the tests
os.environ["XDG_CONFIG_HOME"] = f"{tempfile.gettempdir()}/toolhaft-tests-{os.getpid()}"

# a run in the background of a script ignores Ctrl-C, and so would the programs that tests interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the collected tests: it takes a tenth less time."""
    gc.collect()
    gc.freeze()
