"""An attack leaves the device and the training mode of the victim unchanged."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from attrs import frozen
from support.misbehaving_attack import NAMES, attack, needs_textattack
from torch import nn

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
def test_the_model_is_not_moved_to_another_device(victim, monkeypatch, workers):
    places = [parameter.data_ptr() for parameter in victim.model.parameters()]
    apply = nn.Module._apply

    def watched(module, *arguments, **more):
        assert module not in set(victim.model.modules()), "the model was moved"
        return apply(module, *arguments, **more)

    monkeypatch.setattr(nn.Module, "_apply", watched)
    found = attack(victim, workers=workers)
    assert {record.status for record in found} <= {"success", "failed", "skipped"}
    assert [parameter.data_ptr() for parameter in victim.model.parameters()] == places


@needs_textattack
def test_the_models_of_an_attack_are_loaded_onto_the_victims_device(every_attack, victim, monkeypatch):
    devices = {}

    def on_the_cpu(name, load):
        def loading(resources, device="cpu"):
            devices[name] = str(device)
            return load(resources, "cpu")

        return loading

    for name in ("load_encoder", "load_mlm"):
        monkeypatch.setattr(Resources, name, on_the_cpu(name, getattr(Resources, name)))
    monkeypatch.setattr(Victim, "device", property(lambda _: torch.device("cuda", 3)))
    import_textattack()
    every_attack.build(victim, every_attack.prepare())
    assert devices == {f"load_{name}": "cuda:3" for name in ("encoder", "mlm") if name in every_attack.resource_names()}


class Noisy(nn.Module):
    """Dropout."""

    def forward(self, hidden):
        return nn.functional.dropout(hidden, 0.5, self.training)


@pytest.fixture
def noisy(make_model, tokenizer):
    model = make_model()
    model.dropout = Noisy()
    return Victim(model, tokenizer, NAMES, max_length=64)


@needs_textattack
@pytest.mark.parametrize("workers", [1, 2])
def test_a_model_in_training_mode_is_attacked_in_evaluation_mode_and_restored(noisy, workers):
    calm = attack(noisy)
    noisy.model.train()
    frozen_part = noisy.model.bert.encoder.layer[0].eval()
    modes = {name: module.training for name, module in noisy.model.named_modules()}
    assert True in modes.values()
    assert False in modes.values()
    assert attack(noisy, workers=workers) == calm
    assert {name: module.training for name, module in noisy.model.named_modules()} == modes
    assert not frozen_part.training


@needs_textattack
def test_the_training_mode_is_restored_after_an_interruption(noisy):
    @frozen
    class Stopped(DeepWordBug):
        name: ClassVar[str] = "stopped"
        summary: ClassVar[str] = "stopped by the user"

        def build(self, victim, resources):
            built = super().build(victim, resources)

            def attack(text, label):
                assert not victim.model.training
                raise KeyboardInterrupt

            built.attack = attack
            return built

    noisy.model.train()
    with pytest.raises(KeyboardInterrupt):
        attack(noisy, how=Stopped())
    assert all(module.training for module in noisy.model.modules())
