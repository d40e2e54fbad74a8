"""Components of third parties pass the conformance tests: those that use another component, score from batches, or learn beside a model."""

from __future__ import annotations

from typing import Any, ClassVar

from third_party import distillation, every, head_importance, supervised_contrast

from ticketlab.testing import AdversaryTests, LossTests, ObjectiveTests, PrunerTests


class TestHeadImportance(PrunerTests):
    component = head_importance.HeadImportance
    families = ("bert", "gpt2")


class TestEvery(AdversaryTests):
    component = every.Every
    settings: ClassVar[tuple[Any, ...]] = ({"inner": {"name": "pgd", "steps": 2}, "interval": 3},)


class TestSupervisedContrast(ObjectiveTests):
    component = supervised_contrast.SupervisedContrast
    settings: ClassVar[tuple[Any, ...]] = ({"projection": 4},)


class TestLayerDistillation(LossTests):
    component = distillation.LayerDistillation
