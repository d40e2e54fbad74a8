"""Bias models: they predict the label from a shortcut."""
