"""A bound on the processor's time that is the tested code's own."""

import gc
import sys
import time
from contextlib import contextmanager


@contextmanager
def within_own_s(seconds):
    """A block that takes no longer; neither a tracer nor the garbage of other tests is counted."""
    tracer = sys.gettrace()
    gc.collect()
    gc.disable()
    sys.settrace(None)
    began = time.process_time()
    try:
        yield
        took = time.process_time() - began
    finally:
        sys.settrace(tracer)
        gc.enable()
    assert took < seconds, f"{took:.2f} s"
