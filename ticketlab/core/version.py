"""The version of ticketlab. Nothing else states it."""

__version__ = "0.1.0"
