"""The hidden state that stands for a text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ticketlab.backbone.loading import load_classifier
from ticketlab.plugin import sentence_states
from ticketlab.training.batch import Batch
from ticketlab.training.loss_function import forward_outputs

STATES = torch.arange(12.0).view(2, 3, 2)
MASK = torch.tensor([[1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize(("family", "expected"), [("bert", [[0, 1], [6, 7]]), ("gpt2", [[2, 3], [10, 11]])])
def test_a_decoder_has_its_last_token_and_other_families_their_first(
    tiny: dict[str, Path], family: str, expected: list[list[float]]
) -> None:
    model, _ = load_classifier(str(tiny[family]), ("no", "yes"), 0)
    assert sentence_states(model, STATES, MASK).tolist() == expected


def test_it_is_the_state_that_a_decoder_classifies_from(tiny: dict[str, Path]) -> None:
    model, _ = load_classifier(str(tiny["gpt2"]), ("no", "yes"), 0)
    model.eval()
    ids = torch.tensor([[5, 6, 7], [8, 9, 10]])
    batch = Batch(ids, torch.ones_like(ids), None, torch.zeros(2, dtype=torch.long))
    logits, states = forward_outputs(model, batch, "fp32", hidden_states=True)
    assert torch.allclose(model.score(sentence_states(model, states[-1], batch.attention_mask)), logits)
