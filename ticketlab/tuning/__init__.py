"""Searching settings on development data with Optuna."""
