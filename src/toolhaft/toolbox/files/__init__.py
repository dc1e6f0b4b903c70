"""The tools that read, write and list files."""
