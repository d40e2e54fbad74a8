"""Metrics that an evaluation computes on request, and their base class."""
