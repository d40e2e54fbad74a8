"""Failures of the conformance tests: one sentence that says what to change, without a traceback through the suite."""

from __future__ import annotations

import pytest


def require(holds: bool, message: str) -> None:
    """Fail the running test with ``message`` unless something holds.

    :raises pytest.fail.Exception: it does not.
    """
    if not holds:
        pytest.fail(message, pytrace=False)
