"""The steps of the call pipeline; `executor.py` has their order, `docs/pipeline.md` describes each one.

The docstring of a step says first which chains contain it: a chain has only the steps that its tool needs.
"""
