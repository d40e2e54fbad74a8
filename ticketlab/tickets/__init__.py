"""Tickets: drawing them from scores, their files, holding their weights at zero."""
