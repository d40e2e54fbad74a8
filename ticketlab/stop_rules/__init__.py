"""Stop rules: they decide when a search has seen enough."""
