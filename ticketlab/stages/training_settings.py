"""The settings of the stages that train a model, what they need, and which of them have an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from ticketlab.adversaries.base import Adversary
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.core.component import components_in, with_components
from ticketlab.core.errors import SettingError, did_you_mean
from ticketlab.core.settings import component, ratio, reference, setting
from ticketlab.losses.base import Loss, sources_of
from ticketlab.metrics.base import Metric
from ticketlab.objectives.base import Objective
from ticketlab.stages import loss_inputs
from ticketlab.stages.base import Stage, TaskStage, UnusedSetting
from ticketlab.stages.training_data import AUGMENT, check_augmentation
from ticketlab.training.component import TrainingComponent
from ticketlab.training.randomness import SOURCES_OF_RANDOMNESS, check_sources

SELECT_ON = ("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews")
"""The development scores of every training on a task."""


@frozen
class TrainingSettings(TaskStage):
    """The settings of every training stage."""

    objective: Objective = component("objective", "task", help="what is learned: the task, or masked words of plain text")
    loss: Loss = component("loss", "cross-entropy", help="what is minimised on each example of the task")
    bias: str | None = reference(
        None, accepts=("bias",), help="a bias stage, or a file of probabilities by example id, where the loss needs it"
    )
    teacher: str | None = reference(None, accepts=("train",), help="a train stage or a finished classifier, where the loss needs a teacher")
    teacher_labels: tuple[str, ...] = setting((), help="`TEACHER_LABEL=TASK_LABEL`, where the teacher's label names differ")
    adversary: Adversary = component("adversary", "none", help="how the word embeddings are perturbed")
    augment: str | None = reference(
        None,
        accepts=("attack",),
        help="also learn, with their correct labels, from texts that fooled a model: an attack stage on training examples, a file of its "
        "records, or a data set exported from them",
    )
    mix_ood: int = setting(
        0,
        at_least=0,
        at_most=1000,
        unit="times",
        help="times that each training example of the recipe's OOD sets is added to an epoch",
    )
    watch_ood: bool = setting(
        False, help="also evaluate on the OOD sets at every evaluation, for learning curves; this does not affect selection"
    )
    epochs: float = setting(3.0, above=0, unit="epochs", help="passes over the training examples")
    batch_size: int = setting(32, at_least=1, unit="examples", help="examples per optimizer step")
    accumulate: int = setting(
        1,
        at_least=1,
        unit="micro-batches",
        added_later=True,
        help="compute the gradients of a batch in this many parts, one after the other, which needs less memory; the gradients are those "
        "of the whole batch, and only dropout differs",
    )
    lr: float = setting(2e-5, above=0, help="peak learning rate of the weights")
    weight_decay: float = setting(0.01, at_least=0, help="AdamW's weight decay; none on biases and layer norms")
    warmup: float = setting(
        0.1, at_least=0, at_most=1, unit="fraction of the steps", help="part of the training during which the learning rate rises"
    )
    clip: float = setting(1.0, above=0, help="bound on the norm of the gradient")
    eval_steps: int | None = setting(
        None,
        at_least=1,
        unit="steps",
        help="steps between evaluations on development examples; none evaluates at the end of each epoch",
    )
    select: Literal["last", "best"] = setting(
        "last", choices=("last", "best"), help="keep the weights of the last step, or those with the best development score"
    )
    metrics: tuple[Metric, ...] = component(
        "metric", None, many=True, added_later=True, help="metrics to compute at each evaluation on development examples, as `dev_NAME`"
    )
    select_on: str = setting(
        "accuracy",
        help=f"the development score that `best` compares: {', '.join(SELECT_ON)}, or the name of one of `metrics`; `binary_f1` is of the "
        "task's positive label; without a task only accuracy exists",
    )
    select_after: float = ratio(0.0, help="part of the training that must have passed before `best` keeps a checkpoint")
    max_length: int | None = setting(
        None,
        at_least=4,
        unit="tokens",
        added_later=True,
        help="maximum length of this stage's inputs in tokens, if it differs from the recipe's, for example for a stage with its own task",
    )
    fixed_randomness: tuple[Literal["head", "order", "dropout"], ...] = setting(
        (),
        choices=SOURCES_OF_RANDOMNESS,
        added_later=True,
        check=check_sources,
        help="sources of random numbers that every seed shares, namely those of seed 0, to measure what the spread between seeds comes "
        "from: `head` (the initial weights of a new head, and masked words), `order` (of the examples), `dropout` (with an adversary's "
        'noise); written as ["head", "order"], and [] for none',
    )
    checkpoint_seconds: float = setting(60.0, at_least=0, unit="seconds", identity=False, help="time between checkpoints")

    @property
    def uses_task(self) -> bool:
        """Whether the objective learns from the task's examples."""
        return any(part.uses_task for part in with_components(self.objective) if isinstance(part, Objective))

    @property
    def needs_model(self) -> bool:
        """True: a training starts from the recipe's model, unless it names another."""
        return True

    @property
    def uses_ood(self) -> bool:
        """Whether training uses challenge sets: mixes in their training examples, or evaluates on them."""
        return self.uses_task and (self.mix_ood > 0 or self.watch_ood)

    def longest(self, of_recipe: int) -> int:
        """Return the objective's own maximum, so that tasks of different lengths share the stage, else that of the stage or the recipe."""
        own = self.max_length if self._objective_length is None else self._objective_length
        return of_recipe if own is None else own

    @property
    def _objective_length(self) -> int | None:
        """The maximum length that the objective, or one in its settings, has of its own."""
        lengths = (getattr(part, "max_length", None) for part in with_components(self.objective) if isinstance(part, Objective))
        return next((length for length in lengths if length is not None), None)

    def references(self) -> dict[str, str]:
        """Return the references without those that the loss or the objective does not use."""
        unused = self.unused()
        return {name: value for name, value in super().references().items() if name not in unused}

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a loss without its inputs, and data that the loss or the split does not allow; see :meth:`Stage.check`."""
        unused = self.unused()
        for source in loss_inputs.SOURCES:
            if source not in unused:
                loss_inputs.check_source(self.loss, source, getattr(self, source))
        known = (*SELECT_ON, *(metric.name for metric in self.metrics))
        if self.select_on not in known:
            raise SettingError(f"select_on: must be one of {', '.join(known)}, not {self.select_on!r}{did_you_mean(self.select_on, known)}")
        if not self.uses_task and self.select_on != "accuracy":
            raise SettingError(f"select_on: the objective `{self.objective.name}` has no {self.select_on}; choose accuracy")
        if self.uses_task and self.mix_ood and "bias" in sources_of(self.loss):
            raise SettingError(f"mix_ood: the loss `{self.loss.name}` needs a bias model, which covers no examples of the OOD sets")
        if self.accumulate > 1 and "accumulate" not in unused:
            try:
                self.check_divides_batches()
            except SettingError as problem:
                raise SettingError(f"accumulate: {problem}, so accumulate must be 1") from None
        if AUGMENT in self.references():
            if "bias" in sources_of(self.loss):
                raise SettingError(f"augment: the loss `{self.loss.name}` needs a bias model, which covers no changed texts")
            check_augmentation(str(self.augment), named.get(AUGMENT))

    @property
    def has_one_pass(self) -> bool:
        """Whether a step is known to be a single forward-backward pass."""
        adversary = self.adversary
        return isinstance(adversary, Clean) or (isinstance(adversary, (FreeLB, PGD)) and adversary.steps + adversary.clean_pass == 1)

    def check_divides_batches(self) -> None:
        """Check that the gradients of a batch can be computed in parts, by several processes or in micro-batches.

        :raises SettingError: a component needs all rows of a batch at once.
        """
        for part in components_in(self, self.identity()):
            if isinstance(part, TrainingComponent) and part.whole_batch:
                raise SettingError(f"the {part.kind} `{part.name}` needs all rows of a batch at once")

    def unused(self) -> dict[str, UnusedSetting]:
        """Return what the loss, the objective and the selection do not use; see :meth:`Stage.unused`."""
        found: dict[str, UnusedSetting] = {}
        no_labels = UnusedSetting(f"the objective `{self.objective.name}` learns from no labels")
        if not self.uses_task:
            found |= dict.fromkeys(("task", "loss", "mix_ood", "watch_ood", "metrics", AUGMENT), no_labels)
        if self._objective_length is not None:
            found["max_length"] = UnusedSetting(f"the objective `{self.objective.name}` has its own (`objective.max_length`)")
        for need in loss_inputs.SOURCES:
            if need not in sources_of(self.loss) or not self.uses_task:
                found[need] = UnusedSetting(f"the loss `{self.loss.name}` needs no {need}", harmless=True) if self.uses_task else no_labels
        if "teacher" in found or self.teacher is None:
            found["teacher_labels"] = found.get("teacher", UnusedSetting("there is no teacher"))
        if self.select == "last":
            found |= dict.fromkeys(("select_on", "select_after"), UnusedSetting('`select` is "last", so nothing is selected'))
        return found

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and what neither the adversary nor the loss reads; see :meth:`Stage.ineffective`."""
        found = super().ineffective(stages)
        if isinstance(self.adversary, Clean) and "adversary" not in found:
            found["adversary.start_step"] = UnusedSetting(f"the adversary `{self.adversary.name}` perturbs nothing")
        if isinstance(self.adversary, (FreeLB, PGD)) and self.adversary.steps == 1 and "adversary" not in found:
            found["adversary.step_size"] = UnusedSetting(f"`{self.adversary.name}` moves no perturbation, since `steps` is 1")
            if self.has_one_pass:
                found["adversary.share_dropout"] = UnusedSetting(f"`{self.adversary.name}` makes one pass per step, since `steps` is 1")
        built_in = type(self.loss).__module__.startswith("ticketlab.")  # that of a plugin may return weights without announcing them
        if built_in and type(self.loss).batch_weights is Loss.batch_weights and "loss" not in found:
            found["loss.reduction"] = UnusedSetting(f"the loss `{self.loss.name}` gives all examples the same weight")
        return found

    def external_inputs(self) -> dict[str, str]:
        """Return the files that the objective, and any in its settings, reads besides the task."""
        found: dict[str, str] = {}
        for index, part in enumerate(part for part in with_components(self.objective) if isinstance(part, Objective)):
            role = "objective" + ".inner" * index
            found |= {f"{role}.{name}": place for name, place in part.external_inputs().items()}
        return found
