"""One file a step of the road; `executor.py` says in which order they stand."""
