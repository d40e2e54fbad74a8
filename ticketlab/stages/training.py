"""What the stages that train have in common: the settings of the optimizer, and the loop made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.adversaries.base import Adversary
from ticketlab.attacks.results import augmentation
from ticketlab.attacks.results.augmentation import Augmented
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.bias_models import probabilities
from ticketlab.core.callback import Callback
from ticketlab.core.errors import SettingError
from ticketlab.core.settings import component, ratio, reference, setting
from ticketlab.lab.layout import BIAS, CHECKPOINT
from ticketlab.losses.base import Loss
from ticketlab.objectives.base import Objective, TrainingContext, TrainingSession
from ticketlab.stages import input_warnings
from ticketlab.stages.base import PRETRAINED, Context, Input, Stage, UnusedSetting
from ticketlab.stages.best_checkpoint import Best
from ticketlab.tasks import label_map
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.trained_on import DEV, TrainedOn
from ticketlab.training.batch import tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.evaluation import predict
from ticketlab.training.loop import Loop, TrainingResult
from ticketlab.training.optimizer import adamw

OF_THE_LOSS = ("bias", "teacher")
"""References that count only where the loss needs what they name."""
AUGMENT = "augment"
"""The reference that counts only where the task is learnt."""


@frozen
class Training(Stage):
    """Settings of every training. Learning rates rise linearly, then fall linearly to zero."""

    objective: Objective = component("objective", "task", help="what is learnt: the task, or the words of plain text")
    loss: Loss = component("loss", "cross-entropy", help="what is minimised on each example of the task")
    bias: str | None = reference(
        None, accepts=("bias",), help="a bias stage, or a file of probabilities by example id, where the loss needs it"
    )
    teacher: str | None = reference(None, accepts=("train",), help="a train stage or a finished classifier, where the loss needs a teacher")
    teacher_labels: tuple[str, ...] = setting((), help="`TEACHER_LABEL=TASK_LABEL`, where the teacher's names differ")
    adversary: Adversary = component("adversary", "none", help="how the word embeddings are perturbed")
    augment: str | None = reference(
        None,
        accepts=("attack",),
        help="learn, with their right labels, from the texts that led a model astray too: an attack stage on training examples, a file "
        "of its records, or a data set exported from them",
    )
    mix_ood: int = setting(
        0,
        at_least=0,
        at_most=1000,
        unit="times",
        help="learn from each training example of the recipe's OOD sets too, so many times an epoch",
    )
    watch_ood: bool = setting(False, help="evaluate on the OOD sets too at every look, for curves; nothing is selected by them")
    epochs: float = setting(3.0, above=0, unit="epochs", help="passes over the training examples")
    batch_size: int = setting(32, at_least=1, unit="examples", help="examples per optimizer step")
    lr: float = setting(2e-5, above=0, help="peak learning rate of the weights")
    weight_decay: float = setting(0.01, at_least=0, help="AdamW's weight decay; none on biases and layer norms")
    warmup: float = setting(0.1, at_least=0, at_most=1, unit="fraction of the steps", help="part of the training in which the rates rise")
    clip: float = setting(1.0, above=0, help="bound on the norm of the gradient")
    eval_steps: int | None = setting(
        None, at_least=1, unit="steps", help="steps between looks at the development examples; none looks at the end of each epoch"
    )
    select: Literal["last", "best"] = setting(
        "last", choices=("last", "best"), help="keep what the last step left, or what had the best development score"
    )
    select_on: Literal["accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews"] = setting(
        "accuracy",
        choices=("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "binary_f1", "matthews"),
        help="the development score that `best` goes by; `binary_f1` is of the task's positive label, and without a task there is accuracy",
    )
    select_after: float = ratio(0.0, help="part of the training before which `best` keeps nothing")
    checkpoint_seconds: float = setting(60.0, at_least=0, unit="seconds", identity=False, help="time between checkpoints")

    @property
    def uses_task(self) -> bool:
        """As the objective says."""
        return self.objective.uses_task

    @property
    def uses_ood(self) -> bool:
        """Whether their training examples are mixed in, or they are watched."""
        return self.uses_task and (self.mix_ood > 0 or self.watch_ood)

    def longest(self, of_recipe: int) -> int:
        """Return the objective's own, so that tasks of other lengths share what knows no task, or else the recipe's."""
        own: int | None = getattr(self.objective, "max_length", None)
        return of_recipe if own is None else own

    def references(self) -> dict[str, str]:
        """Return the references; those that the loss does not need do not count, and none of the task's where it is not learnt."""
        unused = self.unused()
        return {name: value for name, value in super().references().items() if name not in unused}

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a loss without what it needs, and to learn from other examples than those of training; see :meth:`Stage.check`."""
        missing = {
            "bias": "a [bias] stage, or a file of probabilities",
            "teacher": "a train stage with plain cross-entropy, or a classifier",
        }
        unused = self.unused()
        for need in OF_THE_LOSS:
            if need not in unused and getattr(self, need) in (None, PRETRAINED):
                raise SettingError(f"{need}: the loss `{self.loss.name}` needs it; name {missing[need]} (`{need} = ...`)")
        if not self.uses_task and self.select_on != "accuracy":
            raise SettingError(f"select_on: the objective `{self.objective.name}` has no {self.select_on}; choose accuracy")
        if self.uses_task and self.mix_ood and "bias" in self.loss.needs:
            raise SettingError(f"mix_ood: the loss `{self.loss.name}` needs a bias model, which knows nothing of the OOD sets' examples")
        if AUGMENT in self.references() and "bias" in self.loss.needs:
            raise SettingError(f"augment: the loss `{self.loss.name}` needs a bias model, which knows nothing of the changed texts")
        split = getattr(named.get(AUGMENT), "split", augmentation.SPLIT)
        if AUGMENT in self.references() and split != augmentation.SPLIT:
            raise SettingError(
                f"augment: `{self.augment}` attacks {split} examples, and a training may learn from training examples alone "
                f"(--set {self.augment}.split={augmentation.SPLIT})"
            )

    def unused(self) -> dict[str, UnusedSetting]:
        """Return what the loss and the objective do not need, and what selecting the last step does not go by; see :meth:`Stage.unused`."""
        found: dict[str, UnusedSetting] = {}
        no_labels = UnusedSetting(f"the objective `{self.objective.name}` learns from no labels")
        if not self.uses_task:
            found |= dict.fromkeys(("loss", "mix_ood", "watch_ood", AUGMENT), no_labels)
        for need in OF_THE_LOSS:
            if need not in self.loss.needs or not self.uses_task:
                found[need] = UnusedSetting(f"the loss `{self.loss.name}` needs no {need}", quiet=True) if self.uses_task else no_labels
        if "teacher" in found or self.teacher is None:
            found["teacher_labels"] = found.get("teacher", UnusedSetting("there is no teacher"))
        if self.select == "last":
            found |= dict.fromkeys(("select_on", "select_after"), UnusedSetting('`select` is "last", so nothing is chosen'))
        return found

    def external_inputs(self) -> dict[str, str]:
        """Return what the objective reads besides the task."""
        return {f"objective.{name}": place for name, place in self.objective.external_inputs().items()}

    def start_session(self, context: Context) -> TrainingSession:
        """Load the model to start from, on the device that trains it, and the rows."""
        start = context.inputs["start"].model if "start" in context.inputs else context.model
        augmented = self._augmented(context)
        data = augmented.data if augmented else context.data
        if self.uses_task and self.mix_ood > 0:
            data = challenge_sets.mix(data, context.ood, context.ood_map, self.mix_ood)
        training_context = TrainingContext(
            start,
            data,
            self.loss,
            context.max_length,
            context.precision,
            context.seed,
            loss_inputs=self._loss_inputs(context, data),
            warn=context.warn_of_input,
            say=lambda message: context.say_of_input(f"text of {context.name}: {message}"),
        )
        session = self.objective.start_session(training_context)
        input_warnings.warn_of_texts(context, f"{data.name}, train" if self.uses_task else f"text of {context.name}", session.rows)
        if self.uses_task:
            input_warnings.warn_of_rows(context, session.tokenizer)
        session.model.to(pick_device())
        return session

    def mixed(self, context: Context) -> dict[str, Any]:
        """Return what results say of the examples beside the task's own that are learnt from: how many of each challenge set and attack."""
        found: dict[str, Any] = {}
        if self.uses_task and self.mix_ood:
            found["mixed"] = {data.name: self.mix_ood * len(data.splits["train"]) for data in context.ood if data.splits["train"]}
        augmented = self._augmented(context)
        if augmented:
            found["augmented"] = {"by": self.augment, **augmented.facts()}
        return found

    @property
    def judges(self) -> bool:
        """Whether development scores decide what is kept."""
        return self.select == "best"

    def trained_on(self, context: Context, session: TrainingSession | None) -> TrainedOn:
        """Return the known training texts of the model, its ticket and its teacher; without ``session``, those before this stage."""
        known = context.trained_on(*([] if "start" in context.inputs else [Input(context.model, is_stage=False)]))
        own = session.texts() if session else None
        return known | (own if own is None or self.judges else own.without(DEV))

    def steps(self, session: TrainingSession) -> int:
        """Return the optimizer steps of the whole training."""
        return max(1, round(-(-len(session.rows) // self.batch_size) * self.epochs))

    def offer(self, best: Best, found: Mapping[str, float], step: int, steps: int, tensors: Callable[[], Mapping[str, Tensor]]) -> None:
        """Let ``best`` keep what there is after so many steps, whose development scores were ``found``, if it may be kept."""
        if self.select == "best" and step >= self.select_after * steps:
            best.offer(found[f"dev_{self.select_on}"], tensors)

    def watch(self, context: Context, session: TrainingSession) -> dict[str, float]:
        """Return the accuracy on each of the recipe's challenge sets by name, where they are watched."""
        own = context.data.label_names
        found = {}
        for data in context.ood if self.watch_ood and self.uses_task else ():
            examples = data.examples("test")
            logits = predict(session.model, tokenize(examples, session.tokenizer, context.max_length), precision=context.precision)
            meaning = challenge_sets.meaning(data.name, own, data.label_names, context.ood_map)
            found[f"{data.name}_accuracy"] = challenge_sets.judge(logits.argmax(dim=1).tolist(), examples, data, meaning)["accuracy"]
        return found

    def fit(
        self,
        context: Context,
        session: TrainingSession,
        *,
        callbacks: Sequence[Callback],
        evaluate: Callable[[int], dict[str, float]],
        clip_penalty: bool = True,
    ) -> TrainingResult:
        """Train, from the checkpoint in the stage's directory where there is one."""
        loop = Loop(
            loss_function=session.loss_function(callbacks),
            adversary=self.adversary,
            optimizer=adamw(session.model, callbacks, self.lr, self.weight_decay),
            callbacks=callbacks,
            rows=session.rows,
            batch_size=self.batch_size,
            epochs=self.epochs,
            warmup=self.warmup,
            clip=self.clip,
            clip_penalty=clip_penalty,
            seed=context.seed,
            checkpoint=Checkpoint(context.directory / CHECKPOINT),
            checkpoint_seconds=self.checkpoint_seconds,
            log=context.log,
            title=context.name,
            evaluate=evaluate,
            evaluate_steps=self.eval_steps,
        )
        return loop.run()

    def _augmented(self, context: Context) -> Augmented | None:
        if AUGMENT not in context.inputs:
            return None
        given = context.inputs[AUGMENT]
        return augmentation.augment(context.data, augmentation.texts_of(given.folder, is_stage=given.is_stage))

    def _loss_inputs(self, context: Context, data: TaskData) -> dict[str, Tensor]:
        """Return what the loss needs of each training example, joined by its id."""
        loss_inputs: dict[str, Tensor] = {}
        if "bias" in context.inputs:
            file = context.inputs["bias"].file(BIAS)
            loss_inputs["bias_log_probs"] = probabilities.read(file, data.examples("train"), data.label_names)
        if "teacher" in context.inputs:
            loss_inputs["teacher_probs"] = self._taught(context, data)
        return loss_inputs

    def _taught(self, context: Context, data: TaskData) -> Tensor:
        """Return the teacher's probabilities of the training examples, (rows, classes) in the order of the task's labels."""
        model, tokenizer, names = loading.load_finished(
            context.inputs["teacher"].model, lambda message: context.warn_of_input(f"teacher: {message}")
        )
        order = label_map.match(names, data.label_names, self.teacher_labels, flag=f"{context.name}.teacher_labels")
        rows = tokenize(data.examples("train"), tokenizer, context.max_length)
        input_warnings.warn_of_texts(context, f"{data.name}, train, as the teacher sees it", rows)
        logits = predict(model.to(pick_device()), rows, precision=context.precision, title=f"{context.name}: teacher")
        probs: Tensor = logits[:, torch.tensor(order)].softmax(dim=1)
        return probs
