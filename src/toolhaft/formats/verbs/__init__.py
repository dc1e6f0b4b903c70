"""The five verbs, docs and costs: what is asked of every wire alike."""
