"""Runs a recipe in a lab: preflight checks, stage keys, the stage cache, provenance."""
