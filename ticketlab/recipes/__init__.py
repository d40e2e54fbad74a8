"""Recipes: resolved tables, overrides by flags, requirements of losses, the built-in TOML files."""
