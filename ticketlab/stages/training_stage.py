"""What the stages that train a model share: they start a session, train, and keep the state of the best or the last step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from attrs import evolve, frozen
from torch import Tensor

from ticketlab.backbone.device import pick_device
from ticketlab.core.callback import Callback, with_nested
from ticketlab.core.component import components_in
from ticketlab.lab.layout import CHECKPOINT
from ticketlab.losses.base import inputs_of
from ticketlab.objectives.base import TrainingContext, TrainingSession
from ticketlab.stages import input_warnings, loss_inputs
from ticketlab.stages.base import Context, Input
from ticketlab.stages.best_checkpoint import BestCheckpoint
from ticketlab.stages.challenge_scores import challenge_scores
from ticketlab.stages.followers import Followed, ignored
from ticketlab.stages.training_data import added_examples, training_data
from ticketlab.stages.training_runs import TrainingRuns
from ticketlab.stages.training_settings import TrainingSettings
from ticketlab.tasks.trained_on import DEV, TrainedOn
from ticketlab.training import parallel
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.component import outputs_of
from ticketlab.training.forgotten import ForgottenChecks
from ticketlab.training.loop import Loop
from ticketlab.training.optimizer import adamw
from ticketlab.training.result import TrainingResult
from ticketlab.training.schedule import total_steps


@frozen
class Training(TrainingSettings):
    """A stage that trains a model. Learning rates rise linearly, then fall linearly to zero."""

    version: ClassVar[int] = 2  # 2: dropout draws other random numbers, and the last layer leaves out tokens that the head does not read

    def start_session(self, context: Context) -> TrainingSession:
        """Load the model to start from, on the device that trains it, and tokenise the training examples."""
        start = context.inputs["start"].model if "start" in context.inputs else context.model
        data = training_data(context, self._mixed_copies)
        needed = inputs_of(self.loss) if self.uses_task else frozenset()
        teacher, teacher_tokenizer = loss_inputs.load_teacher(context) if "teacher_hidden_states" in needed else (None, None)
        training_context = TrainingContext(
            start,
            data,
            self.loss,
            context.max_length,
            context.precision,
            self.seed_of("head", context),
            metrics=self.metrics,
            loss_inputs=loss_inputs.read_loss_inputs(context, data, needed, self.teacher_labels),
            teacher=teacher,
            warn=context.warn_of_input,
            say=lambda message: context.say_of_input(f"text of {context.name}: {message}"),
        )
        session = self.objective.start_session(training_context)
        if teacher is not None:
            loss_inputs.check_vocabularies(context, teacher_tokenizer, session.tokenizer)
        input_warnings.warn_of_texts(context, f"{data.name}, train" if self.uses_task else f"text of {context.name}", session.rows)
        if self.uses_task:
            input_warnings.warn_of_test_examples(context, session.tokenizer)
        session.model.to(pick_device())
        return session

    @property
    def _mixed_copies(self) -> int:
        return self.mix_ood if self.uses_task else 0

    def added_examples(self, context: Context) -> dict[str, Any]:
        """Return the facts about training examples that are not the task's own, for the result."""
        return added_examples(context, self._mixed_copies, self.augment)

    @property
    def selects_on_dev(self) -> bool:
        """Whether development scores decide what is kept."""
        return self.select == "best"

    def trained_on(self, context: Context, session: TrainingSession | None) -> TrainedOn:
        """Return the known training texts of the model, its ticket and its teacher; without ``session``, those before this stage."""
        known = context.trained_on(*([] if "start" in context.inputs else [Input(context.model, is_stage=False)]))
        own = session.texts() if session else None
        return known | (own if own is None or self.selects_on_dev else own.without(DEV))

    def seed_of(self, source: Literal["head", "order", "dropout"], context: Context) -> int:
        """Return the seed of one source of random numbers: 0 if it is fixed, otherwise that of the run."""
        return 0 if source in self.fixed_randomness else context.seed

    def steps(self, session: TrainingSession) -> int:
        """Return the number of optimizer steps of the whole training."""
        return total_steps(len(session.rows), self.batch_size, self.epochs)

    def runs(self, context: Context, session: TrainingSession) -> TrainingRuns:
        """Return the objective, the loss and the adversary of the training, which have not begun."""
        outputs = outputs_of(components_in(self, self.identity()))
        loss = self.loss if self.uses_task else None
        steps = self.steps(session)
        return TrainingRuns(session, self.objective, self.adversary, loss, outputs, steps, self.batch_size, context.seed, self.accumulate)

    def offer(
        self, best: BestCheckpoint, scores: Mapping[str, float], step: int, steps: int, tensors: Callable[[], Mapping[str, Tensor]]
    ) -> None:
        """Offer ``best`` the tensors at ``step`` of ``steps`` and their development scores, if this step may be selected."""
        if self.select == "best" and step >= self.select_after * steps:
            score = scores.get(f"dev_{self.select_on}")
            if score is not None:  # a metric may be undefined at this step
                best.offer(-score if self._lower_is_better else score, tensors)

    def kept(self, best: BestCheckpoint, context: Context) -> dict[str, Tensor]:
        """Return the tensors of the best evaluation, if one is selected; with a warning if none had the score to select by."""
        tensors = best.take()
        if self.select == "best" and not tensors:
            since = f" from {self.select_after:.3g} of the planned steps on" if self.select_after else ""
            context.warn(f"no evaluation{since} has `{self.select_on}`, so nothing was selected and the last step is kept")
        return tensors

    @property
    def _lower_is_better(self) -> bool:
        return any(metric.name == self.select_on and metric.better == "lower" for metric in self.metrics)

    def challenge_scores(self, context: Context, session: TrainingSession) -> dict[str, float]:
        """Return the scores on each challenge set, if they are evaluated during the training."""
        return challenge_scores(context, session) if self.watch_ood and self.uses_task else {}

    def fit(
        self,
        context: Context,
        session: TrainingSession,
        runs: TrainingRuns,
        *,
        callbacks: Sequence[Callback],
        evaluate: Callable[[int], dict[str, float]],
        clip_penalty: bool = True,
    ) -> TrainingResult:
        """Train, resuming from the checkpoint in the stage's directory if there is one.

        The trained parameters that the result counts are those of the model and of ``callbacks``, not those of ``runs``. In a group of
        processes, the first one tells the others to run the stage too; there, this method does not return.
        """
        group = parallel.group()
        followed = [*with_nested(callback for callback in callbacks if not callback.observes), *runs.callbacks]
        if group is None or group.leads:
            callbacks = [*with_nested(callbacks), *runs.callbacks]
            callbacks.append(ForgottenChecks(session.model, tuple(callbacks), runs.callbacks, context.warn))
        else:
            callbacks = followed
        if "lr" in self.unused():
            runs.check_rates()
        loop = Loop(
            loss_function=runs.loss_function(callbacks),
            adversary=runs.adversary,
            optimizer=adamw(session.model, callbacks, self.lr, self.weight_decay),
            callbacks=callbacks,
            rows=session.rows,
            batch_size=self.batch_size,
            epochs=self.epochs,
            warmup=self.warmup,
            clip=self.clip,
            clip_penalty=clip_penalty,
            order_seed=self.seed_of("order", context),
            dropout_seed=self.seed_of("dropout", context),
            checkpoint=Checkpoint(context.directory / CHECKPOINT),
            checkpoint_seconds=self.checkpoint_seconds,
            log=context.log,
            title=context.name,
            evaluate=evaluate,
            evaluate_steps=self.eval_steps,
            accumulate=self.accumulate,
            group=group,
            runs=runs.callbacks,
            followed=followed,
        )
        if group is not None and not group.leads:
            loop.follow()
            raise Followed
        if group is not None:
            group.share((self, evolve(context, log=ignored, printed=set(), keep=())))
        finished = loop.run()
        return evolve(finished, parameters=finished.parameters - runs.parameters())
