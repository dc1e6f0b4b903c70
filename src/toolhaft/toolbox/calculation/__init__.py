"""The calculator: its own grammar, exact results where possible, and bounded work for any input."""
