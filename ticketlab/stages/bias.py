"""bias: probabilities of a model that sees only a shortcut, for debiasing losses."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from ticketlab.bias_models import probabilities
from ticketlab.bias_models.base import BiasModel, Features
from ticketlab.bias_models.fitting import Classifier, cross_fit
from ticketlab.bias_models.folds import assign_folds, check
from ticketlab.bias_models.measures import measure
from ticketlab.bias_models.words import FromFile, NoVectors, WordVectorSource
from ticketlab.core import progress, registry
from ticketlab.core.errors import DataError, PluginError
from ticketlab.core.settings import component, setting
from ticketlab.lab.layout import BIAS
from ticketlab.stages.base import Context, TaskStage
from ticketlab.tasks.base import Example, TaskData


@frozen
class BiasStage(TaskStage):
    """Fit a bias model on the training examples. Writes ``bias.jsonl``: the probabilities of each training example, by its id.

    Each example's probabilities are predicted by a classifier that was not fitted on it (with one fold, by one that was, as in the paper).
    The result depends neither on the seed nor on the order of the examples.
    """

    name: ClassVar[str] = "bias"
    summary: ClassVar[str] = "probabilities of a model that sees only a shortcut"
    seeded: ClassVar[bool] = False

    model: BiasModel = component("bias model", "overlap", help="what the classifier sees of an example")
    folds: int = setting(
        5,
        at_least=1,
        help="parts of the training data, each predicted by a classifier fitted on the others; with 1, it predicts the data that it saw",
    )
    c: float = setting(1.0, above=0, help="inverse strength of the classifier's L2 penalty: scikit-learn's C times the number of features")

    @property
    def needs_model(self) -> bool:
        """Whether the input embeddings of the recipe's model are used."""
        return self.model.needs_model

    def external_inputs(self) -> dict[str, str]:
        """Return the path of the word vectors: different vectors make a different bias model."""
        return self.model.external_inputs()

    def run(self, context: Context) -> dict[str, Any]:
        """Fit and predict; see :meth:`Stage.run`."""
        self._check_columns(context.data)
        names = context.data.label_names
        splits = {split: sorted(context.data.splits.get(split, ()), key=lambda example: example.id) for split in ("train", "dev", "test")}
        train = splits["train"]
        labels = {split: np.array([example.label for example in examples], dtype=np.int64) for split, examples in splits.items()}
        single = labels["train"] < len(names)
        fold = assign_folds([self.model.sees(example) for example in train], labels["train"], self.folds)
        check(labels["train"][single], fold[single], names, self.folds)
        words = self._words(context)
        features = {split: self._features(examples, words) for split, examples in splits.items() if examples}
        with progress.bar("bias model", self.folds + 1) as bar:
            found, converged = cross_fit(features["train"], labels["train"], fold, len(names), self.c, bar.advance)
            whole = Classifier(features["train"][single], labels["train"][single], len(names), self.c)
        probabilities.write(context.directory / BIAS, train, found, names)
        measures = {
            split: measure(whole(features[split]), labels[split], names) if split in features else None for split in ("dev", "test")
        }
        cross_fitted = measure(found[single], labels["train"][single], names)
        if cross_fitted is not None:
            progress.say(
                f"{context.name}: `{self.model.name}` has an accuracy of {100 * cross_fitted['accuracy']:.1f} % on the training examples "
                f"(majority baseline: {100 * cross_fitted['majority']:.1f} %); its calibration error is "
                f"{100 * cross_fitted['calibration_error']:.1f} %"
            )
        return {
            "bias": {
                "model": self.model.name,
                "features": int(features["train"].shape[1]),
                "folds": self.folds,
                "rows": len(train),
                "fitted": int(single.sum()),
                "converged": converged and whole.converged,
                "words": {"vectors": "model" if self.needs_model else self.model.word_vectors or "none", **words.counts()},
                "train": cross_fitted,
                **measures,
            }
        }

    def _features(self, examples: Sequence[Example], words: WordVectorSource) -> Features:
        """Return the features of some examples.

        :raises PluginError: they are not finite numbers with one row per example.
        """
        found = self.model.features(examples, words)
        shape = getattr(found, "shape", None)
        if not isinstance(found, np.ndarray) or found.ndim != 2 or len(found) != len(examples):
            raise PluginError(
                f"the bias model `{self.model.name}` returned features of shape {shape}; it must be ({len(examples)}, any number)"
            )
        if not np.isfinite(found).all():
            raise PluginError(f"the bias model `{self.model.name}` returned features that are not all finite numbers")
        return found

    def _words(self, context: Context) -> WordVectorSource:
        if not self.needs_model:
            vectors = self.external_inputs().get("word_vectors")
            return FromFile(vectors) if vectors else NoVectors()
        from ticketlab.bias_models.embeddings import FromModel

        return FromModel(context.model, context.warn_of_input)

    def _check_columns(self, data: TaskData) -> None:
        """Refuse a bias model of pairs for a task of single texts.

        :raises DataError: the message names the bias models that work.
        """
        if len(data.columns) >= self.model.columns:
            return
        others = [name for name in registry.current().names("bias model") if _columns(name) <= len(data.columns)]
        raise DataError(
            f"{data.name}: the bias model `{self.model.name}` needs a pair of texts, and this task has one (`{data.columns[0]}`); "
            f"choose a --task of pairs, or another bias model: {', '.join(f'`{name}`' for name in others)}"
        )


def _columns(name: str) -> float:
    """Return the number of text columns that a bias model needs; infinity if its plugin is broken."""
    with contextlib.suppress(PluginError):
        cls = registry.current().get("bias model", name)
        if issubclass(cls, BiasModel):
            return cls.columns
    return float("inf")
