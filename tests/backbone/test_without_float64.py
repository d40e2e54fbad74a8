"""Training, masked language models and searches on a device without double precision, which is simulated."""

from __future__ import annotations

import contextlib

import pytest
import torch
from support.small_searches import odd_model, training
from support.without_float64 import OnHost, lacking_float64

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.pruners.hard_concrete import HardConcrete
from ticketlab.pruners.imp import IMP
from ticketlab.pruners.importance import Importance
from ticketlab.pruners.mask_training import MaskTraining
from ticketlab.resources.resources import Resources


def test_the_simulation_refuses_double_precision_on_the_device(monkeypatch):
    with lacking_float64(monkeypatch) as device:
        with pytest.raises(TypeError, match="doesn't support float64"):
            torch.ones(3).double()
        with pytest.raises(TypeError, match="doesn't support float64"):
            torch.ones(3).sum(dtype=torch.float64)
        assert isinstance(torch.ones(3).cpu(), OnHost)
        assert torch.ones(3).cpu().double().sum().item() == 3
    assert device.allowed == 2


@pytest.mark.parametrize("pruner", [HardConcrete(), Importance(), IMP(), MaskTraining()], ids=lambda pruner: pruner.name)
def test_a_search_trains_without_double_precision_and_gives_the_same_scores(pruner, tmp_path, monkeypatch):
    found = []
    for limited in (False, True):
        loop, search = training(pruner, odd_model(), tmp_path / str(limited), steps=3, adversary=FreeLB(steps=2))
        with lacking_float64(monkeypatch) if limited else contextlib.nullcontext():
            loop.run()
            metrics = search.metrics()
            found.append((search.scores(), metrics))
    (scores, metrics), (limited_scores, limited_metrics) = found
    assert limited_metrics == metrics
    assert all(torch.equal(limited_scores[name], values) for name, values in scores.items())


def test_a_masked_language_model_predicts_without_double_precision(tiny_mlm_folder, monkeypatch):
    model = Resources(mlm=tiny_mlm_folder).load_mlm()
    text = model.tokens("the film was good")
    expected = model.top([(text, [1, 2])], 4)
    with lacking_float64(monkeypatch) as device:
        assert model.top([(text, [1, 2])], 4) == expected
    assert device.allowed > 0
