"""Runs textattack's own recipe classes with our resources in place of their downloads, for comparison with our attacks."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.inference.random_state import example_seed, seeded
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
KINDS = {
    "SuccessfulAttackResult": "success",
    "FailedAttackResult": "failed",
    "SkippedAttackResult": "skipped",
    "MaximizedAttackResult": "success",
}
SEED = 3
LEAST = 10


def sst2_examples(real_data: Path, count: int, *, words: int) -> list[Example]:
    """Return validation examples of at most this many words, every seventh that fits."""
    lines = (real_data / "sst2" / "validation.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    fitting = [(number, row) for number, row in enumerate(rows) if 4 <= len(row["sentence"].split()) <= words]
    return [Example(f"validation-{number}", (row["sentence"],), NAMES.index(row["label"])) for number, row in fitting[::7][:count]]


def differences(
    how: Any, recipe: str, victim: Victim, examples: list[Example], resources: Resources | None = None, stopwords: Any = None
) -> tuple[list[Any], list[Record]]:
    """Return the differences between the stock recipe's results and ours, and our records; model, resources and seeds are the same.

    ``stopwords`` replaces the stock recipe's own list. Examples on which the stock recipe fails are skipped: its sentence encoder raises
    StopIteration for a candidate that is not a word.
    """
    records = run_attack(
        how, victim, examples, columns=("text",), label_names=NAMES, records=RecordFile(None, "c"), seed=SEED, resources=resources
    )
    resources = resources or how.prepare()
    with stock(resources, recipe) as build:
        found = [_outcome(build(victim), example, stopwords) for example in examples]
    whole = [number for number, outcome in enumerate(found) if outcome is not None]
    assert len(whole) >= LEAST
    ours = [(record.status, record.perturbed, record.queries) for record in records]
    return [(examples[number], found[number], ours[number]) for number in whole if found[number] != ours[number]], records


def _outcome(attack: Any, example: Example, stopwords: Any) -> tuple[str, tuple[str, ...], int] | None:
    for constraint in attack.pre_transformation_constraints:
        if stopwords is not None and hasattr(constraint, "stopwords"):
            constraint.stopwords = stopwords
    with seeded(example_seed(SEED, example.id)), contextlib.suppress(StopIteration):
        result = attack.attack(OrderedDict(text=example.texts[0]), example.label)
        return KINDS[type(result).__name__], (result.perturbed_result.attacked_text.text,), result.num_queries
    return None


@contextlib.contextmanager
def stock(resources: Resources, recipe: str) -> Iterator[Callable[[Victim], Any]]:
    """Yield a function that builds a stock recipe class, with ``resources`` in place of its downloads."""
    textattack = import_textattack()
    cls = getattr(textattack.attack_recipes, recipe)

    def build(victim: Victim) -> Any:
        attack = cls.build(victim)
        for constraint in attack.constraints:
            if type(constraint).__name__ == "UniversalSentenceEncoder":
                constraint.model = resources.load_encoder().encode  # otherwise loaded from the hub of TensorFlow when first used
        return attack

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nltk.download", lambda *_, **__: True)
        patch.setattr(textattack.shared.WordEmbedding, "counterfitted_GLOVE_embedding", functools.cache(lambda: _embedding(resources)))
        patch.setattr("nltk.pos_tag", lambda words, **_: list(zip(words, resources.load_tagger()(words), strict=True)))
        if hasattr(importlib.import_module(cls.__module__), "WordSwapWordNet"):
            synonyms = importlib.import_module("textattack.transformations.word_swaps.word_swap_wordnet")
            patch.setattr(synonyms, "wordnet", resources.load_wordnet().reader)
        if hasattr(module := importlib.import_module(cls.__module__), "WordSwapHomoglyphSwap"):
            patch.setattr(module, "WordSwapHomoglyphSwap", lambda: _without_its_list(textattack.transformations.WordSwapHomoglyphSwap))
        yield build


def _embedding(resources: Resources) -> Any:
    """Return textattack's own embedding on our vectors; neighbours are searched by numpy alone, the word itself first."""
    from textattack.shared import WordEmbedding

    vectors = resources.load_word_vectors()
    matrix = vectors.matrix.astype(np.float64)
    lengths = np.linalg.norm(matrix, axis=1)
    units = matrix / np.where(lengths, lengths, 1)[:, None]

    class Neighbours:
        def __getitem__(self, index: int) -> list[int]:
            cosine = units @ units[index]
            near = sorted(np.argpartition(-cosine, 60)[:60].tolist(), key=lambda other: (-cosine[other], other))
            return [index, *(other for other in near if other != index)]

    return WordEmbedding(vectors.matrix, {word: vectors.word2index(word) for word in vectors.words}, vectors.words, Neighbours())


def _without_its_list(cls: Any) -> Any:
    made = cls.__new__(cls)
    with contextlib.suppress(FileNotFoundError):  # of a list that the package lacks; everything else is set by then
        made.__init__()
    return made
