"""Executors: where the stages of a study are computed."""
