"""Trainings of a tiny model whose batches may be divided, by one process or several, and what tests compare of them."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from attrs import define, field
from torch import Tensor, nn

from ticketlab.adversaries.base import Adversary
from ticketlab.adversaries.fgm import FGM
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.backbone.loading import load_classifier, load_mlm
from ticketlab.core import ranks
from ticketlab.core.callback import Callback
from ticketlab.losses.base import Loss
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.confreg import ConfidenceRegularisation
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.losses.poe import ProductOfExperts
from ticketlab.losses.reweight import Reweight
from ticketlab.pruners.base import Pruner
from ticketlab.pruners.hard_concrete import HardConcrete
from ticketlab.pruners.imp import IMP
from ticketlab.pruners.importance import Importance
from ticketlab.pruners.mask_training import MaskTraining
from ticketlab.pruners.structured_hard_concrete import StructuredHardConcrete
from ticketlab.training import parallel
from ticketlab.training.batch import TokenizedRows
from ticketlab.training.checkpoint import Checkpoint, restore_tensors, state_tensors
from ticketlab.training.loop import Loop
from ticketlab.training.masked_lm import MaskedLMLoss
from ticketlab.training.masking import MaskingVocabulary
from ticketlab.training.optimizer import adamw
from ticketlab.training.plan import TrainingPlan
from ticketlab.training.result import TrainingResult

STEPS = 20
ROWS, BATCH = 43, 7
"""The last batch of an epoch has one row: fewer than there are parts."""
RATE = 2e-5
"""The default of training stages. Adam moves a weight without a gradient, such as the bias of keys, by this much at random."""


@define
class Method:
    """How a model is trained. ``discrete`` methods remove units during the training, which rounding may decide."""

    adversary: Adversary = field(factory=Clean)
    loss: Loss = field(factory=CrossEntropy)
    pruner: Pruner | None = None
    mlm: bool = False
    discrete: bool = False


METHODS: dict[str, Method] = {
    "plain": Method(),
    "freelb": Method(FreeLB()),
    "freelb with shared dropout": Method(FreeLB(share_dropout=True, clean_pass=True)),
    "pgd": Method(PGD(max_norm=0.1)),
    "fgm": Method(FGM()),
    "hard-concrete": Method(FreeLB(steps=2), pruner=HardConcrete()),
    "hard-concrete, each pass": Method(FreeLB(steps=2), pruner=HardConcrete(resample="pass")),
    "hard-concrete, target": Method(FreeLB(steps=2), pruner=HardConcrete(target=0.6), discrete=True),  # rounding decides the smallest steps
    "structured hard-concrete": Method(pruner=StructuredHardConcrete()),
    "importance": Method(FreeLB(steps=2), pruner=Importance(heads_penalty=0.1)),
    "mask-training": Method(pruner=MaskTraining(threshold_steps=5), discrete=True),
    "imp": Method(pruner=IMP(amount=0.1, interval=0.2), discrete=True),
    "mlm": Method(mlm=True),
    "mlm and freelb": Method(FreeLB(steps=2), pruner=Importance(), mlm=True),
    "poe": Method(loss=ProductOfExperts(anneal=0.5)),
    "reweight": Method(loss=Reweight()),
    "reweight by weights": Method(FreeLB(steps=2), loss=Reweight(reduction="weights")),
    "confreg": Method(loss=ConfidenceRegularisation()),
}


class Recorder(Callback):
    """Records the state before each step and the gradients after it; or restores recorded states before each step."""

    def __init__(self, restored: list[dict[str, Tensor]] | None = None) -> None:
        self.restored = restored
        self.states: list[dict[str, Tensor]] = []
        self.gradients: list[Tensor] = []
        self.others: list[Callback] = []

    def on_train_start(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer

    def on_step_start(self, step: int) -> None:
        if self.restored is not None:
            restore_tensors(self.restored[step], self.optimizer, self.others)
        self.states.append({name: value.clone() for name, value in state_tensors(self.optimizer, self.others).items()})

    def collect(self) -> None:
        parameters = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        flat = [(torch.zeros_like(one) if one.grad is None else one.grad).flatten() for one in parameters]
        self.gradients.append(torch.cat(flat).double())


class Last(Callback):
    """Lets a recorder collect the gradients after all other callbacks."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def on_after_backward(self) -> None:
        self.recorder.collect()


def make_loop(
    method: Method,
    model_folder: Path,
    folder: Path,
    *,
    recorder: Recorder | None = None,
    accumulate: int = 1,
    group: parallel.Group | None = None,
    seed: int = 0,
    dropout: float = 0.0,
    steps: int = STEPS,
    rate: float = RATE,
    more: tuple[Callback, ...] = (),
    seconds: float = 1e9,
) -> Loop:
    model, rows, loss_of = _mlm(model_folder) if method.mlm else _classifier(method.loss, model_folder)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = dropout
    plan = TrainingPlan(model, steps=steps, seed=1, sparsity=0.3)
    model.requires_grad_(method.pruner is None or method.pruner.trains_weights)
    searches = [] if method.pruner is None else [method.pruner.begin(plan)]
    loss, adversary = method.loss.begin(plan), method.adversary.begin(plan)
    callbacks: list[Callback] = [*searches, loss, adversary]
    followed = callbacks
    if recorder is not None:
        recorder.others = callbacks
        followed = [recorder, *callbacks, Last(recorder)]
    everything = [*followed, *more] if group is None or group.leads else followed
    torch.manual_seed(seed)
    return Loop(
        loss_function=loss_of(model, loss, everything), adversary=adversary, optimizer=adamw(model, callbacks, rate, 0.01),
        callbacks=everything, rows=rows, batch_size=BATCH, epochs=steps / -(-ROWS // BATCH), warmup=0.1, clip=1.0, order_seed=seed,
        dropout_seed=seed,
        checkpoint=Checkpoint(folder / "checkpoint.safetensors"), checkpoint_seconds=seconds, log=lambda record: None, title="test",
        accumulate=accumulate, group=group, runs=[loss, adversary], followed=followed,
    )  # fmt: skip


def _rows(vocabulary: int) -> TokenizedRows:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(4, 20, (ROWS,), generator=generator).tolist()
    ids = [torch.randint(10, vocabulary, (length,), generator=generator).tolist() for length in lengths]
    logits = torch.randn(2, ROWS, 2, generator=generator)
    inputs = {"bias_log_probs": logits[0].log_softmax(dim=1), "teacher_probs": logits[1].softmax(dim=1)}
    return TokenizedRows(ids, None, [index % 2 for index in range(ROWS)], 0, 0, loss_inputs=inputs)


def _classifier(loss: Loss, folder: Path) -> tuple[Any, TokenizedRows, Callable[..., Any]]:
    model, tokenizer = load_classifier(str(folder), ("negative", "positive"), 0)
    return model, _rows(len(tokenizer)), lambda model, run, callbacks: ClassificationLoss(model, run, callbacks=callbacks)


def _mlm(folder: Path) -> tuple[Any, TokenizedRows, Callable[..., Any]]:
    model, tokenizer, _ = load_mlm(str(folder), 0)
    vocabulary = MaskingVocabulary.of(tokenizer, model.get_input_embeddings().num_embeddings)
    return model, _rows(len(tokenizer)), lambda model, run, callbacks: MaskedLMLoss(model, vocabulary, callbacks=callbacks)


@define
class Outcome:
    """What is compared of a training."""

    states: list[dict[str, Tensor]]
    gradients: list[Tensor]
    weights: Tensor
    scores: dict[str, Tensor]
    result: TrainingResult | None = None


def train(loop: Loop, recorder: Recorder) -> Outcome:
    """Run a training, or take part in it."""
    result = None
    if loop.group is None or loop.group.leads:
        result = loop.run()
    else:
        loop.follow()
    parameters = [parameter for group in loop.optimizer.param_groups for parameter in group["params"]]
    weights = torch.cat([parameter.detach().flatten() for parameter in parameters])
    search = next((callback for callback in loop.callbacks if hasattr(callback, "scores")), None)
    scores = {} if search is None else dict(search.scores())
    return Outcome(recorder.states, recorder.gradients, weights, scores, result)


def run(method: Method, model: Path, folder: Path, **options: Any) -> Outcome:
    """Run a training, or take part in it. See :func:`make_loop`; ``restored`` has states to restore before each step."""
    recorder = Recorder(options.pop("restored", None))
    return train(make_loop(method, model, folder, recorder=recorder, **options), recorder)


class StopAfter(Callback):
    """Ends a training after a step, whose checkpoint is then that of the step before."""

    observes = True

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, step: int) -> bool:
        return step == self.step


def train_all(group: parallel.Group, model: Path, folder: Path) -> None:
    """Run each method in the processes of a group, and save what each of them has; then micro-batches, and a training that stops early."""
    train_methods(group, model, folder, list(METHODS))
    both = run(METHODS["freelb"], model, folder / "more", group=group, accumulate=2)
    if group.leads:
        torch.save(both.weights, folder / "accumulated")
    stop = (StopAfter(9),) if group.leads else ()
    run(METHODS["hard-concrete"], model, folder / "stopped", group=group, more=stop, seconds=0)


def train_methods(group: parallel.Group, model: Path, folder: Path, names: list[str]) -> None:
    """Run methods in the processes of a group, from the states of a training that is saved, and alone."""
    for name in names:
        method = METHODS[name]
        states = torch.load(folder / f"{name}.states")
        divided = run(method, model, folder, group=group, restored=states)
        alone = run(method, model, folder, group=group)
        if group.leads:
            torch.save((divided.gradients, alone.weights, alone.scores), folder / f"{name}.divided")
        else:
            torch.save(alone.weights, folder / f"{name}.follower")


def in_processes(number: int, work: Callable[..., None], *arguments: Any) -> None:
    """Call ``work(group, *arguments)`` in ``number`` spawned processes that train together."""
    with tempfile.TemporaryDirectory() as folder:
        context = torch.multiprocessing.get_context("spawn")
        processes = [context.Process(target=_run, args=(rank, number, folder, work, arguments)) for rank in range(number)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * number


def _run(rank: int, number: int, folder: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    names = {ranks.RANK: rank, ranks.NUMBER: number, ranks.LOCAL_RANK: rank, ranks.MEETING_FILE: f"{folder}/meeting"}
    os.environ.update({name: str(value) for name, value in names.items()})
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with parallel.connected() as group:
        work(group, *arguments)
        if group is not None and not group.leads:
            assert group.share() is None
