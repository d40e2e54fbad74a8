"""Errors that ticketlab reports about a component, as failures of its tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ticketlab.core.errors import PluginError, ResourceError, TicketlabError


@contextlib.contextmanager
def reported_errors() -> Iterator[None]:
    """Fail with the message of an error of ticketlab, without its traceback; skip the test where a package or resource is missing."""
    try:
        yield
    except ResourceError as problem:
        raise pytest.skip.Exception(str(problem)) from None
    except TicketlabError as problem:
        raise pytest.fail.Exception(str(problem), pytrace=False) from None


@contextlib.contextmanager
def broken_contracts() -> Iterator[None]:
    """Fail with the message of a broken contract, without its traceback. An error that the component's code raised keeps its own."""
    try:
        yield
    except PluginError as problem:
        if problem.__cause__ is not None:
            raise
        raise pytest.fail.Exception(str(problem), pytrace=False) from None
