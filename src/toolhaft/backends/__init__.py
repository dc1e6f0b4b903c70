"""Where a handler runs: inline, on a thread, in a process."""
