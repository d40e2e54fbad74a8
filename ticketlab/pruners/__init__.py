"""Pruners: they score the prunable units of a model."""
