"""The only road that a call takes."""
