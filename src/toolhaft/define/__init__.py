"""Five doors, one Tool: decorator, class with a spec, typed handler, raw JSON Schema, YAML file."""
