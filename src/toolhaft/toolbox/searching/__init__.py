"""The tool that searches the web, one small file an engine."""
