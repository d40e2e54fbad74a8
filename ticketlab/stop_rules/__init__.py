"""Stop rules: they decide when a search may end early."""
