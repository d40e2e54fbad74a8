"""Reads data files: formats, columns, labels, splits and subsets."""
