"""The conformance tests of bias models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from ticketlab.bias_models.base import BiasModel
from ticketlab.bias_models.embeddings import FromModel
from ticketlab.core.component import Component
from ticketlab.core.settings import component_table
from ticketlab.inference import random_state
from ticketlab.recipes.recipe import build_recipe
from ticketlab.tasks.base import Example
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.other_process import require_same_elsewhere
from ticketlab.testing.trials.process_state import changes_to_process
from ticketlab.testing.trials.recorded_run import Runner
from ticketlab.testing.trials.workspace import LENGTH, Workspace

STAGE = "tested"
ODD = (("", ""), ("the film", ""), ("", "a film"), ("naïve café 好", "它 ok"), ("the the the", "the"), ("word " * 300, "word"), ("a", "a"))
"""Pairs of texts: empty, of one word, not of ASCII, and long."""


class BiasModelTests(ComponentTests):
    """The tests of a bias model."""

    component: ClassVar[type[BiasModel]]

    def test_every_example_has_finite_features(self, made: Component, workspace: Workspace) -> None:
        """Features are finite floats (examples, features), of one width, for any number of examples and for odd texts."""
        examples = self._examples(made, workspace)
        features = self._features(made, examples, workspace)
        for count in (len(examples), 1):
            found = self._features(made, examples[:count], workspace)
            right = isinstance(found, np.ndarray) and found.ndim == 2 and len(found) == count
            require(right, f"features of {count} examples are {getattr(found, 'shape', type(found).__name__)}: return ({count}, features)")
            require(
                found.shape[1] == features.shape[1], f"there are {features.shape[1]} features, and {found.shape[1]} for the first {count}"
            )
            require(bool(np.isfinite(found.astype(float)).all()), "a feature is not finite: replace it where a text is empty")
        require(features.dtype.kind in "fiub", f"features are {features.dtype}, not numbers")

    def test_a_row_depends_on_its_example_alone(self, made: Component, workspace: Workspace) -> None:
        """The features of an example are the same among other examples, and in another order."""
        examples = self._examples(made, workspace)
        whole = self._features(made, examples, workspace)
        backwards = self._features(made, examples[::-1], workspace)[::-1]
        single = np.concatenate([self._features(made, [example], workspace) for example in examples])
        for other in (backwards, single):
            require(
                bool(np.allclose(whole, other, rtol=1e-5, atol=1e-7, equal_nan=True)),
                "the features of an example depend on the other examples: compute each row from its example alone",
            )

    def test_features_repeat(self, made: Component, workspace: Workspace) -> None:
        """The features are the same bits at each call, whatever the global random states are."""
        examples, found = self._examples(made, workspace), []
        for seed in (1, 2):
            with random_state.isolated(seed):
                found.append(self._features(made, examples, workspace))
        require(np.array_equal(found[0], found[1], equal_nan=True), "features differ between two calls: draw no random numbers")

    def test_features_do_not_depend_on_the_hashes_of_the_process(self, workspace: Workspace) -> None:
        """The order of a set of words is another one in each process."""
        made = [self.make(**settings) for settings in ({}, *self.settings)]
        rows = [[example.id, example.texts, example.label] for example in self._examples(made[0], workspace)]
        require_same_elsewhere(features_of, "the features differ", made, self.uses, rows, str(workspace.model()))

    def test_the_process_is_left_alone(self, made: Component, workspace: Workspace) -> None:
        """``features`` neither seeds the global random generators nor changes the working directory."""
        examples = self._examples(made, workspace)
        changes = changes_to_process(lambda _: self._features(made, examples, workspace))
        require(not changes, f"`features` {changes}: leave it as it is")

    def test_features_use_only_what_it_sees(self, made: Component, workspace: Workspace) -> None:
        """The features depend on no text that ``sees`` leaves out: examples that agree on those texts are in the same fold."""
        model = cast(BiasModel, made)
        for example in self._examples(made, workspace):
            seen: Any = model.sees(example)
            valid = isinstance(seen, tuple) and all(isinstance(text, str) for text in seen)
            require(valid, f"sees returned {seen!r:.80}: return a tuple of texts")
            for place in range(len(example.texts)):
                other = attrs.evolve(
                    example,
                    texts=tuple(f"{text} entirely different" if index == place else text for index, text in enumerate(example.texts)),
                )
                if model.sees(other) != seen:
                    continue
                same = np.array_equal(self._features(made, [example], workspace), self._features(made, [other], workspace), equal_nan=True)
                require(same, f"the features depend on text {place + 1}, which `sees` leaves out: return it from sees")

    def test_a_label_is_not_seen(self, made: Component, workspace: Workspace) -> None:
        """The features do not depend on the label or the id of an example."""
        examples = self._examples(made, workspace)
        others = [attrs.evolve(example, label=1 - example.label, id=f"other {example.id}") for example in examples]
        same = np.array_equal(self._features(made, examples, workspace), self._features(made, others, workspace), equal_nan=True)
        require(same, "the features depend on the label or the id of an example: use its texts alone")

    def test_a_repeated_run_has_the_same_bits(self, made: Component, workspace: Workspace) -> None:
        """A bias stage whose result was deleted gives the same bits; one that was interrupted is computed from the start."""
        table = {STAGE: {"kind": "bias", "folds": 2, "model": component_table(made)}}
        shared = {"model": str(workspace.model()), "max_length": LENGTH, "precision": "fp32", "seeds": [0]}
        runner = Runner(build_recipe("conformance", {**table, **shared, "tasks": [workspace.task(pairs=True)]}), workspace.root, STAGE)
        first, again = runner.whole(seed=1), runner.whole(seed=2)
        require(not (differing := first.difference(again)), f"a bias stage that was repeated differs in {differing}")

    def _examples(self, made: Component, workspace: Workspace) -> list[Example]:
        """Return examples with as many texts as the bias model needs, odd ones at the end."""
        pairs = list(workspace.data(pairs=True).splits["train"][:6])
        odd = [Example(f"odd {index}", texts, index % 2) for index, texts in enumerate(ODD)]
        columns = cast(BiasModel, made).columns
        return [attrs.evolve(example, texts=example.texts[:columns]) for example in (*pairs, *odd)]

    def _features(self, made: Component, examples: Sequence[Example], workspace: Workspace) -> NDArray[np.float64]:
        """Return the features of examples, with the word vectors of a tiny model."""
        return cast(BiasModel, made).features(examples, FromModel(str(workspace.model()), lambda _: None))


def features_of(model: BiasModel, rows: Sequence[tuple[str, Sequence[str], int]], words: str) -> Any:
    """Return the features of examples as lists, with the word vectors of the model in the folder ``words``."""
    examples = [Example(name, tuple(texts), label) for name, texts, label in rows]
    return model.features(examples, FromModel(words, lambda _: None)).tolist()
