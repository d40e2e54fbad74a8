"""Recipes: composed from the built-in TOML files and overrides, resolved, and checked."""
