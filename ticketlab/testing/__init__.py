"""Tiny models for tests of plugins."""
