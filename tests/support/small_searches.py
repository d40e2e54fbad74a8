"""Small models, and searches on them with ticketlab's training loop."""

import copy
import gc
import signal
from pathlib import Path

import torch

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.adversaries.none import Clean
from ticketlab.backbone.loading import load_classifier
from ticketlab.core.callback import Callback
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.testing.models import tiny
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Loop
from ticketlab.training.loss_function import forward
from ticketlab.training.optimizer import adamw
from ticketlab.training.plan import TrainingPlan


def tiny_classifier(family: str, folder: Path):
    return load_classifier(str(tiny.tiny_model(family, folder / "model")), ("no", "yes"), 0)[0].eval()


def odd_model(seed: int = 0):
    """Return a classifier whose matrices have odd numbers of weights: 225, 435 and 45."""
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 15, "num_attention_heads": 3, "intermediate_size": 29, "num_hidden_layers": 2, "num_labels": 3}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BertForSequenceClassification(BertConfig(vocab_size=60, max_position_embeddings=16, **sizes))


def batch(seed: int) -> Batch:
    ids = torch.randint(5, 60, (4, 9), generator=torch.Generator().manual_seed(seed))
    return Batch(ids, torch.ones_like(ids), None, torch.tensor([0, 1, 1, 0]))


def loss_of(model, seed: int):
    return torch.nn.functional.cross_entropy(forward(model, batch(seed), "fp32"), batch(seed).labels)


def rows(count: int) -> TokenizedRows:
    ids = torch.randint(5, 60, (count, 8), generator=torch.Generator().manual_seed(count)).tolist()
    return TokenizedRows(ids, None, [index % 2 for index in range(count)], 0, 0)


def training(
    pruner, model, folder: Path, *, steps: int, sparsity: float = 0.3, sparsities=None, adversary=None, lr=0.02, decay=0.5, after=()
):
    """Return a loop of at most ``steps`` steps, and its search. ``sparsities`` has those of groups that differ."""
    model.requires_grad_(pruner.trains_weights)
    search = pruner.begin(TrainingPlan(model, steps=steps, seed=1, sparsity=sparsity, sparsities=sparsities or {}))
    callbacks = [search, *after]
    torch.manual_seed(0)
    loop = Loop(
        loss_function=ClassificationLoss(model, LossRun(CrossEntropy()), callbacks=callbacks), adversary=AdversaryRun(adversary or Clean()),
        optimizer=adamw(model, callbacks, lr, decay), callbacks=callbacks, rows=rows(4 * steps),
        batch_size=4, epochs=1, warmup=0.0, clip=1.0, order_seed=0,
        dropout_seed=0,
        checkpoint=Checkpoint(folder / "checkpoint.safetensors"), checkpoint_seconds=1e9, log=lambda record: None, title="test",
    )  # fmt: skip
    return loop, search


class AfterStep(Callback):
    """Calls a function after every step."""

    def __init__(self, function) -> None:
        self.function = function

    def on_step_end(self, step: int) -> bool:
        self.function(step)
        return False


class StopAt(Callback):
    """Raises SIGINT (Ctrl-C) in the middle of a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_start(self, step: int) -> None:
        if step == self.step:
            signal.raise_signal(signal.SIGINT)


def state_of(model) -> dict[str, torch.Tensor]:
    return copy.deepcopy(model.state_dict())


def same_bits(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def alive() -> tuple[int, int]:
    """Return the numbers of tensors and of classes that are alive."""
    gc.collect()
    things = gc.get_objects()
    return sum(issubclass(type(thing), torch.Tensor) for thing in things), sum(issubclass(type(thing), type) for thing in things)
