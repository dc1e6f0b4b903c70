"""A calculator with its own grammar: exact where numbers allow it, bounded whatever is asked."""
