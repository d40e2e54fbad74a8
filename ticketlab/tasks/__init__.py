"""Tasks: the contract, label matching, metrics, and hashes of training texts."""
