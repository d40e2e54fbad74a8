"""The version of ticketlab, defined only here."""

__version__ = "0.1.0"
