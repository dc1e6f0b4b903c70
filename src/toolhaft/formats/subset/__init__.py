"""Lowers JSON Schemas to the subset that a provider accepts, and maps arguments between the two shapes."""
