"""Every built-in executor passes the conformance tests."""

from __future__ import annotations

import pytest

from ticketlab.executors.local import Local
from ticketlab.testing import ExecutorTests

pytestmark = pytest.mark.system


class TestLocal(ExecutorTests):
    component = Local
    settings = ({"memory": 8.0},)


class TestLocalInThisProcess(ExecutorTests):
    component = Local
    jobs = 1
