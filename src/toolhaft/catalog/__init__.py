"""Finding tools: the registry."""
