"""The conformance tests of metrics: what they are computed from, which values are better, and where they are not defined."""

from __future__ import annotations

import math
from typing import ClassVar, cast

import numpy as np
import pytest
from attrs import evolve

from ticketlab.core.component import Component
from ticketlab.core.errors import TicketlabError
from ticketlab.inference import random_state
from ticketlab.metrics.base import Metric, Predictions, compute_metrics
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.other_process import require_same_elsewhere
from ticketlab.testing.trials.prediction_sets import DESCRIBED, EXAMPLES, ROWS, rows_of, values_of
from ticketlab.testing.trials.process_state import changes_to_process

CLOSE = 1e-9
"""The largest allowed difference, relative to the value, from adding numbers in another order."""


class MetricTests(ComponentTests):
    """The tests of a metric. ``ordered`` is False for a metric that need not be better for better predictions, such as a share of rows."""

    component: ClassVar[type[Metric]]
    ordered: ClassVar[bool] = True

    @pytest.mark.parametrize("name", ["random", "right", "wrong", "outside", "two labels", "one label", "one class", "one row", "certain"])
    def test_every_set_has_a_value_or_none(self, made: Component, name: str) -> None:
        """A set may have one row or one class, and predictions that are none of its labels; a value is finite and within the limits."""
        self._value_of(made, EXAMPLES[name], name)

    def test_the_order_of_the_rows_changes_nothing(self, made: Component) -> None:
        """The metric is of the set, whose order is arbitrary."""
        first = self._value_of(made, EXAMPLES["random"], "random")
        order = np.random.default_rng(1).permutation(ROWS)
        again = self._value_of(made, rows_of(EXAMPLES["random"], order), "shuffled")
        require(close(first, again), f"the value is {first} for a set and {again} for the same set in another order")

    def test_the_same_predictions_have_the_same_value(self, made: Component) -> None:
        """Whatever was computed before, and whatever the global random generators are seeded with."""
        values = []
        for seed in (0, 1):
            with random_state.seeded(seed):
                self._value_of(made, EXAMPLES["wrong"], "wrong")
                values.append(self._value_of(evolve(made), EXAMPLES["random"], "random"))
        require(values[0] == values[1], f"the value of the same predictions was {values[0]} and then {values[1]}: use no random numbers")

    def test_the_value_does_not_depend_on_the_hashes_of_the_process(self) -> None:
        """The order of a set of label names, or of texts, is another one in each process."""
        made = [self.make(**settings) for settings in ({}, *self.settings)]
        require_same_elsewhere(values_of, "the value differs", made, self.uses)

    def test_the_process_is_left_alone(self, made: Component) -> None:
        """``compute`` neither seeds the global random generators nor changes the working directory."""
        changes = changes_to_process(lambda _: self._value_of(made, EXAMPLES["random"], "random"))
        require(not changes, f"`compute` {changes}: leave it as it is")

    def test_better_predictions_are_not_worse(self, made: Component) -> None:
        """Tables mark the best value, and selections follow it: ``better`` says whether it is the highest or the lowest."""
        right, wrong = (self._value_of(made, EXAMPLES[name], name) for name in ("right", "wrong"))
        if not self.ordered or right is None or wrong is None:
            return
        better = cast(Metric, made).better
        require(
            right >= wrong if better == "higher" else right <= wrong,
            f'`better` is "{better}", and the value is {right:g} if all predictions are right and confident, and {wrong:g} if they '
            "are all wrong; a metric of something else sets `ordered = False` in its test",
        )

    def test_predictions_are_not_kept(self, made: Component) -> None:
        """A metric that remembers an earlier set is wrong for the next one."""
        alone = self._value_of(evolve(made), EXAMPLES["two labels"], "two labels")
        for name in ("random", "one row"):
            self._value_of(made, EXAMPLES[name], name)
        require(close(alone, self._value_of(made, EXAMPLES["two labels"], "two labels")), "the value depends on the sets before it")

    def _value_of(self, metric: Component, predictions: Predictions, name: str) -> float | None:
        """Return the value of predictions as an evaluation computes it."""
        message = ""
        try:
            return compute_metrics([cast(Metric, metric)], predictions)[metric.name]
        except TicketlabError as problem:
            message = str(problem)
        except Exception as problem:  # the code of a plugin may raise anything
            todo = "work on a copy" if "read-only" in str(problem) else "return None where it is not defined"
            message = f"`compute` raises {type(problem).__name__} ({problem}) for {DESCRIBED[name]}: {todo}"
        require(False, message)
        return None


def close(one: float | None, other: float | None) -> bool:
    """Return whether two values are equal up to the rounding of sums."""
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
