"""Rewrites ("lowers") JSON Schemas to the subset that a provider accepts.

Where the lowered schema has another shape, argument maps convert the arguments of calls between the two.
"""
