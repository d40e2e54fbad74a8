"""Runs an attack over many examples: scheduler, attacker, workers, deadlines."""
