"""Generated tests explore on a developer's machine and repeat themselves where a build must be repeatable."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("repeatable")
