"""The training loop on a tiny model: schedules, resuming, and stopping at values that are not finite."""

import contextlib
import math
import signal
from pathlib import Path

import pytest
import torch
from attrs import evolve

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.backbone.loading import load_classifier
from ticketlab.core.callback import Callback
from ticketlab.core.errors import HungUp, Interrupted, PluginError, Terminated, TrainingDiverged
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.pruners.hard_concrete import HardConcrete, open_probability
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.training import loop as loop_module
from ticketlab.training.batch import tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.checkpoint_writer import CheckpointWriter
from ticketlab.training.loop import Loop
from ticketlab.training.optimizer import adamw
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.schedule import Schedule


@pytest.mark.parametrize(
    ("total", "warmup", "factors"),
    [
        (4, 0, [1, 0.75, 0.5, 0.25]),
        (4, 2, [0.5, 1, 1, 0.5]),
        (1, 0, [1]),
        (1, 1, [1]),
        (3, 10, [0.1, 0.2, 0.3]),
    ],
    ids=["no warm-up", "half warm-up", "one step", "one step of warm-up", "fewer steps than the warm-up"],
)
def test_learning_rates_rise_then_fall(total, warmup, factors):
    assert [Schedule(total, warmup).factor(step) for step in range(total)] == pytest.approx(factors)


def make_loop(tiny, folder: Path, *, search: bool, lr: float = 1e-3, extra: tuple[Callback, ...] = (), seconds: float = 1e9) -> Loop:
    model, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)
    model.requires_grad_(not search)
    callbacks = [HardConcrete().begin(TrainingPlan(model, steps=9, seed=1))] if search else []
    callbacks += extra
    rows = tokenize(DemoTask(rows=40).load().splits["train"], tokenizer, 64)
    torch.manual_seed(0)
    return Loop(
        loss_function=ClassificationLoss(model, LossRun(CrossEntropy()), callbacks=callbacks), adversary=AdversaryRun(FreeLB(steps=2)),
        optimizer=adamw(model, callbacks, lr, 0.01),
        callbacks=callbacks, rows=rows, batch_size=8, epochs=1.8, warmup=0.1, clip=1.0, order_seed=0,
        dropout_seed=0,
        checkpoint=Checkpoint(folder / "c.safetensors"),
        checkpoint_seconds=seconds, log=lambda record: None, title="test",
    )  # fmt: skip


def state_of(loop: Loop) -> list[torch.Tensor]:
    return [parameter.detach().clone() for group in loop.optimizer.param_groups for parameter in group["params"]]


class StopAt(Callback):
    """Raises SIGINT (Ctrl-C) or another signal in the middle of a step."""

    def __init__(self, step: int, number: int = signal.SIGINT) -> None:
        self.step = step
        self.number = number

    def on_step_start(self, step: int) -> None:
        if step == self.step:
            signal.raise_signal(self.number)


@pytest.mark.parametrize("in_background", [False, True], ids=["", "written in the background"])
@pytest.mark.parametrize("search", [False, True], ids=["training", "search"])
@pytest.mark.parametrize(
    ("step", "number", "error"),
    [(0, signal.SIGINT, Interrupted), (3, signal.SIGTERM, Terminated), (5, signal.SIGHUP, HungUp), (8, signal.SIGINT, Interrupted)],
)
def test_a_resumed_training_ends_with_the_same_bits(tiny, tmp_path, monkeypatch, search, step, number, error, in_background):
    """On a GPU the checkpoints of a training are written in the background."""
    monkeypatch.setattr(loop_module, "CheckpointWriter", lambda checkpoint, **_: CheckpointWriter(checkpoint, in_background=in_background))
    whole = make_loop(tiny, tmp_path / "whole", search=search)
    expected = whole.run()
    assert expected.steps == 9
    stopped = make_loop(tiny, tmp_path / "parts", search=search, extra=(StopAt(step, number),))
    before = signal.getsignal(number)
    with pytest.raises(error, match=f"step {step + 1} of 9"):
        stopped.run()
    assert signal.getsignal(number) == before
    resumed = make_loop(tiny, tmp_path / "parts", search=search, extra=(StopAt(99),))
    found = resumed.run()
    assert (found.steps, found.loss, found.history) == (expected.steps, expected.loss, expected.history)
    assert all(torch.equal(one, other) for one, other in zip(state_of(whole), state_of(resumed), strict=True))


def test_checkpoints_at_every_step_change_nothing(tiny, tmp_path):
    plain = make_loop(tiny, tmp_path / "a", search=True)
    plain.run()
    careful = make_loop(tiny, tmp_path / "b", search=True, seconds=0)
    careful.run()
    assert all(torch.equal(one, other) for one, other in zip(state_of(plain), state_of(careful), strict=True))
    assert careful.checkpoint.path.exists()


def test_a_diverging_training_stops_and_keeps_the_last_finite_checkpoint(tiny, tmp_path):
    loop = make_loop(tiny, tmp_path, search=False, lr=1e20, seconds=0)
    with pytest.raises(TrainingDiverged, match=r"step \d+"):
        loop.run()
    if loop.checkpoint.path.exists():
        fresh = make_loop(tiny, tmp_path, search=False)
        fresh.checkpoint.load(fresh.optimizer, fresh.callbacks)
        assert all(bool(torch.isfinite(value).all()) for value in state_of(fresh))


def test_weights_that_are_not_finite_after_the_last_step_raise(tiny, tmp_path):
    loop = evolve(make_loop(tiny, tmp_path, search=False, lr=1e39), epochs=0.2)
    assert loop.steps == 1  # no later step would notice it in its loss
    with pytest.raises(TrainingDiverged, match="a parameter is not finite after step 1; no checkpoint had been written yet"):
        loop.run()


def test_a_loss_that_is_nan_names_the_step(tiny, tmp_path):
    class Broken(Callback):
        def on_step_start(self, step: int) -> None:
            if step == 4:
                with torch.no_grad():
                    next(iter(loop.loss_function.model.parameters())).fill_(math.nan)

    loop = make_loop(tiny, tmp_path, search=False, extra=(Broken(),))
    with pytest.raises(TrainingDiverged, match=r"nan.* at step 5"):
        loop.run()


def test_a_callback_can_end_the_training(tiny, tmp_path):
    class Enough(Callback):
        def on_step_end(self, step: int) -> bool:
            return step == 2

    assert make_loop(tiny, tmp_path, search=False, extra=(Enough(),)).run().steps == 3


def test_a_signal_in_the_step_that_ends_the_training_has_its_usual_effect(tiny, tmp_path):
    class Enough(StopAt):
        def on_step_end(self, step: int) -> bool:
            return step == self.step

    with pytest.raises(KeyboardInterrupt):
        make_loop(tiny, tmp_path, search=False, extra=(Enough(2),)).run()


def test_a_penalty_reaches_the_gradient(tiny, tmp_path):
    class Pull(Callback):
        def penalty(self) -> torch.Tensor:
            return 100 * model.classifier.bias.sum()

    loop = make_loop(tiny, tmp_path, search=False)
    model = loop.loss_function.model
    before = model.classifier.bias.detach().clone()
    evolve(loop, callbacks=[Pull()]).run()
    assert bool((model.classifier.bias < before).all())


@pytest.mark.parametrize(("changed_in", "noticed"), [({0}, True), ({1}, True), ({5}, True), ({8}, True), ({3}, False)], ids=str)
@pytest.mark.parametrize("restored", [False, True])
def test_an_adversary_that_leaves_weights_changed_is_noticed(tiny, tmp_path, changed_in, noticed, restored):
    """In the first two steps, the first of each epoch (5 of 9), and the last."""

    class OnWeights(AdversaryRun):
        def step(self, loss_function, batch, step):
            weights = loss_function.model.get_input_embeddings().weight
            before = weights.detach().clone()
            if step in changed_in:
                weights.data[3] += 0.5
            loss = super().step(loss_function, batch, step)
            if restored:
                weights.data.copy_(before)
            return loss

    loop = evolve(make_loop(tiny, tmp_path, search=False), adversary=OnWeights(FreeLB(steps=2)))
    expects = pytest.raises(PluginError, match="test: weights changed while the gradients of a step were computed")
    with expects if noticed and not restored else contextlib.nullcontext():
        assert loop.run().steps == 9


@pytest.mark.parametrize(("clip_penalty", "expected"), [(True, [0.601108, 0.799168]), (False, [0.634974, 0.834974])], ids=["with", "after"])
def test_a_penalty_is_clipped_with_the_loss_or_added_after_the_clipping(tiny, tmp_path, clip_penalty, expected):
    """Two gates at log alpha 0, a loss gradient of (3, 4), bound 1, lambda .5: R adds p = .5 x .139894 / 2 to each of them.

    Together (3 + p, 4 + p) / 5.048967, and apart (3, 4) / 5 + p.
    """
    gates = torch.nn.Parameter(torch.zeros(2))
    seen = []

    class Gates(Callback):
        def on_after_backward(self) -> None:
            gates.grad = torch.tensor([3.0, 4.0])

        def penalty(self) -> torch.Tensor:
            return 0.5 * open_probability(gates, 2 / 3).mean()

    class Seen(torch.optim.SGD):
        def step(self) -> None:
            seen.extend(gates.grad.tolist())

    loop = make_loop(tiny, tmp_path, search=False)
    loop = evolve(loop, callbacks=[Gates()], optimizer=Seen([gates], lr=1), clip=1.0, clip_penalty=clip_penalty)
    loop._step(0, loop.rows.collate([0]))
    assert seen == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("damage", ["all", "a weight", "the progress"])
def test_a_training_with_a_damaged_checkpoint_starts_over(tiny, tmp_path, capsys, damage):
    expected = make_loop(tiny, tmp_path / "whole", search=False).run()
    stopped = make_loop(tiny, tmp_path / "parts", search=False, extra=(StopAt(3),))
    with pytest.raises(Interrupted):
        stopped.run()
    path = stopped.checkpoint.path
    content = path.read_bytes()
    changed = {
        "all": b"not a checkpoint",
        "a weight": content[:-9] + bytes([content[-9] ^ 4]) + content[-8:],
        "the progress": content.replace(b'\\"step\\": 4', b'\\"step\\": 5'),
    }[damage]
    assert changed != content
    path.write_bytes(changed)
    capsys.readouterr()
    found = make_loop(tiny, tmp_path / "parts", search=False).run()
    assert "c.safetensors: the checkpoint is damaged" in capsys.readouterr().err
    assert (found.steps, found.loss) == (expected.steps, expected.loss)
