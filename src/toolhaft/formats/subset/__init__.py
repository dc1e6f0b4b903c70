"""Brings schemas into the subset that a wire takes: `lower` is the way in, a `Subset` says what to do."""
