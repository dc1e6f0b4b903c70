"""The steps of the call pipeline; `executor.py` has their order, `docs/pipeline.md` describes each one."""
