"""The file tools: through the filesystem of the call, so that jail, undo and memory files work unchanged."""
