"""The tool that looks things up in Wikipedia."""
