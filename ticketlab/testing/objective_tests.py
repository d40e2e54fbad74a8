"""The conformance tests of objectives."""

from __future__ import annotations

import copy
import json
import math
from typing import Any, ClassVar

import torch

from ticketlab.core.callback import Callback
from ticketlab.core.component import Component, with_components
from ticketlab.inference import random_state
from ticketlab.objectives.base import Objective, TrainingParts, TrainingSession
from ticketlab.testing.models.model_snapshot import ModelSnapshot
from ticketlab.testing.training_tests import TrainingTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.workspace import Workspace
from ticketlab.training.batch import TokenizedRows


class ObjectiveTests(TrainingTests):
    """The tests of an objective."""

    component: ClassVar[type[Objective]]
    setting: ClassVar[str] = "objective"

    def test_a_session_has_a_model_and_rows(self, made: Component, workspace: Workspace) -> None:
        """The session has a model on the CPU with all weights trained, its tokenizer and at least one row; its facts are JSON."""
        session = self._trial(made, workspace).session
        require(isinstance(session, TrainingSession), f"start_session returned {type(session).__name__}, not a TrainingSession")
        require(isinstance(session.rows, TokenizedRows) and len(session.rows) > 0, "the session has no rows: set `rows` to TokenizedRows")
        require(next(session.model.parameters()).device.type == "cpu", "the model is not on the CPU: the stage moves it to its device")
        require(all(part.requires_grad for part in session.model.parameters()), "a weight is frozen: the stage decides what is trained")
        require(callable(session.tokenizer), "the session has no tokenizer")
        try:
            json.dumps(session.facts(), allow_nan=False)
        except (TypeError, ValueError) as problem:
            require(False, f"facts() returned something that is no JSON ({problem}): return numbers, strings, lists and dicts")
        identities = session.provenance()
        strings = all(isinstance(value, str) for pair in identities.items() for value in pair)
        require(strings, "provenance() returned something other than strings by name")
        require(bool(identities), "provenance() is empty: name the data that is learned from, with a hash of its content")

    def test_two_sessions_agree(self, made: Component, workspace: Workspace) -> None:
        """Two sessions of the same context have the same model, rows and provenance, whatever the global random states are."""
        sessions = []
        for seed in (1, 2):
            with random_state.isolated(seed):
                sessions.append(self._trial(made, workspace).session)
        first, second = sessions
        weights = zip(first.model.parameters(), second.model.parameters(), strict=True)
        require(all(torch.equal(one, other) for one, other in weights), "two sessions of a seed have other weights: use `context.seed`")
        same = list(first.rows.input_ids) == list(second.rows.input_ids) and list(first.rows.labels) == list(second.rows.labels)
        require(same, "two sessions of the same seed have other rows, or in another order")
        require(first.provenance() == second.provenance(), "two sessions of the same data have another provenance")

    def test_evaluations_repeat_and_leave_the_model_alone(self, made: Component, workspace: Workspace) -> None:
        """``evaluate`` returns finite scores with ``dev_accuracy``, the same each time, and leaves weights, modes and random states."""
        session = self._trial(made, workspace).session
        before, state = ModelSnapshot.of(session.model), torch.get_rng_state()
        scores = [session.evaluate() for _ in range(2)]
        self._require_untouched(before, session.model, "after evaluate()")
        require(torch.equal(state, torch.get_rng_state()), "evaluate() draws random numbers, so training depends on how often it is called")
        require(scores[0] == scores[1], "evaluate() returns other scores the second time: evaluate without dropout, on the same examples")
        accuracy = scores[0].get("dev_accuracy")
        require(isinstance(accuracy, float) and 0 <= accuracy <= 1, f"evaluate() returned {accuracy!r} as `dev_accuracy`, not a fraction")
        wrong = [name for name, value in scores[0].items() if not name.startswith("dev_") or not math.isfinite(value)]
        require(not wrong, f"evaluate() returned `{next(iter(wrong), '')}`: names begin with `dev_`, and values are finite")

    def test_the_loss_function_does_what_adversaries_need(self, made: Component, workspace: Workspace) -> None:
        """A pass calls the callbacks once, heeds perturbations and weights, and returns a loss and a weight for each row."""
        passes = Passes()
        trial = self._trial(made, workspace)
        parts = TrainingParts((passes,), trial.runs.loss, trial.runs.outputs)
        function = trial.session.loss_function(parts)
        trial.model.eval()
        batch = function.prepare(trial.batch(), 0, trial.steps)
        with torch.no_grad():
            plain = function(batch)
            shape = (*batch.input_ids.shape, function.embedding_dim)
            nothing, moved = (
                function(batch, torch.zeros(shape)),
                function(batch, torch.randn(shape, generator=torch.Generator().manual_seed(0))),
            )
            weighed = function(batch, None, torch.tensor([1.0, 0.0, 0.0, 0.0]))
        require(passes.indices == [0, 1, 2, 3], f"on_pass_start was called with {passes.indices} in four passes: call it once, from 0 on")
        rows = (len(batch),)
        require(plain.losses.shape == rows and plain.weights.shape == rows, f"losses are {tuple(plain.losses.shape)}, not {rows}")
        require(plain.loss.ndim == 0, f"the loss is {tuple(plain.loss.shape)}, not a scalar")
        require(torch.allclose(plain.loss, nothing.loss, atol=1e-5), "a perturbation of zeros changes the loss")
        require(not torch.allclose(plain.loss, moved.loss, atol=1e-5), "a perturbation changes nothing: add it to the word embeddings")
        require(not torch.allclose(plain.loss, weighed.loss, atol=1e-6), "weights of the pass change nothing: multiply those of the loss")
        expected = plain.weights * torch.tensor([1.0, 0.0, 0.0, 0.0])
        require(torch.allclose(weighed.weights, expected), "the weights of the output are not those of the loss times those of the pass")

    def test_the_loss_of_a_copy_of_the_model(self, made: Component, workspace: Workspace) -> None:
        """``with_model`` computes the loss of another model, and calls no callbacks."""
        passes = Passes()
        trial = self._trial(made, workspace)
        function = trial.session.loss_function(TrainingParts((passes,), trial.runs.loss, trial.runs.outputs))
        trial.model.eval()
        other = copy.deepcopy(trial.model)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(0.5)
            batch = function.prepare(trial.batch(), 0, trial.steps)
            own, copied = function(batch), function.with_model(other)(batch)
            again = function(batch)
        require(not torch.allclose(own.logits, copied.logits), "with_model(model) computes the loss of the model that is trained")
        require(torch.equal(own.logits, again.logits), "with_model(model) changes the loss function that it is called on")
        require(passes.indices == [0, 1], "the loss function of a copy calls the callbacks of the training")

    def test_it_says_whether_it_uses_the_task(self, made: Component, workspace: Workspace) -> None:
        """An objective that does not use the task has the same rows whatever the task is, as its key says."""
        if any(part.uses_task for part in with_components(made) if isinstance(part, Objective)):
            return
        trials = [self._trial(made, workspace, pairs=pairs) for pairs in (False, True)]
        first, second = (list(trial.session.rows.input_ids) for trial in trials)
        require(first == second, "the rows depend on the task: declare `uses_task = True`")

    def test_texts_are_hashed(self, made: Component, workspace: Workspace) -> None:
        """``texts`` has the hashes of what is learned from, so that evaluations report overlaps; None declares that it is unknown."""
        session = self._trial(made, workspace).session
        texts: Any = session.texts()
        known = texts is None or hasattr(texts, "save")
        require(known, f"texts() returned {type(texts).__name__}: return hash_texts(...), or None")


class Passes(Callback):
    """Keeps the number of each pass."""

    def __init__(self) -> None:
        self.indices: list[int] = []

    def on_pass_start(self, index: int) -> None:
        """Keep it."""
        self.indices.append(index)
