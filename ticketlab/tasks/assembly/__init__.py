"""Assembles a task from its rows, and checks the data: classes, repeats, leaks, damaged texts."""
