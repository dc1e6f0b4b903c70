"""Benchmarks: speed as a ratio to a limit that is measured in the same process."""
