"""Tiny models, and what tests compare of models."""
