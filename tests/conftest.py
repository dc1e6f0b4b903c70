"""Generated tests explore on a developer's machine and repeat themselves where a build must be repeatable."""

import os

from hypothesis import settings

# a case has no time limit of its own: machines are shared, and speed is measured in benchmarks/
settings.register_profile("exploring", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "exploring")
