"""Finding more tools while a model works."""
