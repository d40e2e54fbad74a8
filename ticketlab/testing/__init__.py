"""Tests for the authors of plugins: a suite of conformance tests for each kind of component, and tiny models to train in them.

An author subclasses the suite of the kind, and pytest runs it::

    from ticketlab.testing import PrunerTests
    from ticketlab_movement.movement import Movement

    class TestMovement(PrunerTests):
        component = Movement

Names are imported when they are first used, and pytest only with the suites.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticketlab.core.lazy_exports import lazy_exports

_EXPORTS = {
    "AdapterTests": "ticketlab.testing.adapter_tests",
    "AdversaryTests": "ticketlab.testing.adversary_tests",
    "AttackTests": "ticketlab.testing.attack_tests",
    "BiasModelTests": "ticketlab.testing.bias_model_tests",
    "ComponentTests": "ticketlab.testing.component_tests",
    "ExecutorTests": "ticketlab.testing.executor_tests",
    "LossTests": "ticketlab.testing.loss_tests",
    "MetricTests": "ticketlab.testing.metric_tests",
    "ObjectiveTests": "ticketlab.testing.objective_tests",
    "PluginTests": "ticketlab.testing.plugin_tests",
    "PrunerTests": "ticketlab.testing.pruner_tests",
    "StageTests": "ticketlab.testing.stage_tests",
    "StopRuleTests": "ticketlab.testing.stop_rule_tests",
    "TaskTests": "ticketlab.testing.task_tests",
    "tiny_model": "ticketlab.testing.models.tiny",
    "TrainingTests": "ticketlab.testing.training_tests",
}

if TYPE_CHECKING:
    from ticketlab.testing.adapter_tests import AdapterTests as AdapterTests
    from ticketlab.testing.adversary_tests import AdversaryTests as AdversaryTests
    from ticketlab.testing.attack_tests import AttackTests as AttackTests
    from ticketlab.testing.bias_model_tests import BiasModelTests as BiasModelTests
    from ticketlab.testing.component_tests import ComponentTests as ComponentTests
    from ticketlab.testing.executor_tests import ExecutorTests as ExecutorTests
    from ticketlab.testing.loss_tests import LossTests as LossTests
    from ticketlab.testing.metric_tests import MetricTests as MetricTests
    from ticketlab.testing.models.tiny import tiny_model as tiny_model
    from ticketlab.testing.objective_tests import ObjectiveTests as ObjectiveTests
    from ticketlab.testing.plugin_tests import PluginTests as PluginTests
    from ticketlab.testing.pruner_tests import PrunerTests as PrunerTests
    from ticketlab.testing.stage_tests import StageTests as StageTests
    from ticketlab.testing.stop_rule_tests import StopRuleTests as StopRuleTests
    from ticketlab.testing.task_tests import TaskTests as TaskTests
    from ticketlab.testing.training_tests import TrainingTests as TrainingTests

__all__ = [*sorted(_EXPORTS)]
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
