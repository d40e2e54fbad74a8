"""What the conformance tests of adapters share: tiny models of a family, tickets for them, and errors as failures."""

from __future__ import annotations

import copy
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from torch import Tensor

from ticketlab.backbone.adapters import Adapter
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.masks import zero_removed
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.models.noisy_model import LABELS, noisy_classifier
from ticketlab.testing.models.tiny import tiny_model
from ticketlab.testing.trials.reported_errors import reported_errors
from ticketlab.testing.trials.workspace import Workspace

if TYPE_CHECKING:
    from transformers import PretrainedConfig


class AdapterSuite(ComponentTests):
    """The attributes and fixtures of :class:`ticketlab.testing.AdapterTests`."""

    component: ClassVar[type[Adapter]]
    models: ClassVar[tuple[str | PretrainedConfig, ...]] = ()
    unpruned: ClassVar[tuple[str, ...]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test of a ``folder`` with each of the models."""
        super().pytest_generate_tests(metafunc)
        if "folder" in metafunc.fixturenames:
            names = [model if isinstance(model, str) else model.model_type for model in self._models_to_try()]
            metafunc.parametrize("folder", self._models_to_try(), ids=names, indirect=True)

    def _models_to_try(self) -> tuple[str | PretrainedConfig, ...]:
        """Return the model types and configs to test with."""
        return self.models or self.component.model_types

    @pytest.fixture
    def folder(self, request: pytest.FixtureRequest, workspace: Workspace) -> Path:
        """The folder of a tiny model of the family."""
        return tiny_of(workspace, request.param)

    @pytest.fixture
    def model(self, folder: Path) -> Any:
        """A classifier in which every parameter affects the logits."""
        with reported_errors():
            return self._noisy(folder)

    def _noisy(self, folder: Path) -> Any:
        """Return a copy of the classifier that :func:`noisy_classifier` makes, which is loaded once for each adapter and model."""
        adapter: Any = self.component  # mypy takes a class with __hash__ for unhashable
        return copy.deepcopy(_loaded(adapter, str(folder)))

    def _tokenizer_for(self, folder: Path) -> Any:
        """Return the tokenizer of a classifier."""
        with reported_errors():
            return load_classifier(str(folder), LABELS, 0, no_warning)[1]

    def _backbone(self, folder: Path, model: Any = None) -> Backbone:
        """Return the prunable parts of a model, by default of that in the folder."""
        with reported_errors():
            return Backbone(self._noisy(folder) if model is None else model)

    def _masked(self, model: Any, masks: dict[str, Tensor]) -> Any:
        """Return a copy of a model with zeros for the units that masks remove."""
        twin = copy.deepcopy(model)
        with reported_errors():
            zero_removed(Backbone(twin), masks)
        return twin


@functools.lru_cache(maxsize=2)
def _loaded(adapter: Any, folder: str) -> Any:
    return noisy_classifier(Path(folder))


def no_warning(_: str) -> None:
    """Warnings about tiny models are expected."""


def tiny_of(workspace: Workspace, model: str | PretrainedConfig) -> Path:
    """Return the folder of a tiny model of a model type or config, made once."""
    if isinstance(model, str):
        return workspace.model(model)
    folder = workspace.root / f"{model.model_type}-{hashlib.sha256(model.to_json_string().encode()).hexdigest()[:8]}"
    return folder if folder.exists() else tiny_model(model, folder)
