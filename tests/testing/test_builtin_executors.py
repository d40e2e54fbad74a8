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
    # The work runs in the process of the driver, which would end with it.
    test_the_work_of_a_worker_that_dies_is_lost = None
    test_closing_lets_a_training_save_a_checkpoint = None
