"""The functions that work with every format: export, import, decode, encode, describe, estimate."""
