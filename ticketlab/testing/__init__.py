"""Tiny models to test plugins with."""

from __future__ import annotations

from ticketlab.testing.tiny import tiny_model

__all__ = ["tiny_model"]
