"""Finding tools: the registry, and the catalog of what is installed."""
