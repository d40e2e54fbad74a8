"""The built-in pair tasks: one with a shortcut at a chosen rate, and a challenge set in which the shortcut does not help."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor
from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import ratio, setting
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.demo.pairs_text import pair
from ticketlab.tasks.reading.rows import LabelledRow

COLUMNS = ("premise", "hypothesis")
LABELS = ("entailment", "non-entailment")
SUBSETS = ("heuristic",)
UNINFORMATIVE = 0.5
"""The rate at which overlap says nothing about the label."""


@frozen
class DemoPairs(Task):
    """Does the hypothesis follow from the premise? The verb of the premise decides.

    The shortcut is word overlap: whether all words of the hypothesis occur in the premise. It agrees with the label in exactly the share
    ``shortcut`` of each class in every split: at 1 always, and at 0.5 it is uninformative. No markers are injected, and the challenge set
    is ``demo_nli_ood``. Test and dev texts do not depend on the number of training rows.
    """

    name: ClassVar[str] = "demo_nli"
    summary: ClassVar[str] = "built-in sentence pairs, two classes, with a word-overlap shortcut at a chosen rate"
    builds_shortcut: ClassVar[bool] = True

    shortcut: float | None = ratio(0.95, help="word overlap agrees with the label in this share of the examples of each class; none is 0.5")
    rows: int = setting(1000, at_least=2, at_most=50_000, unit="examples", help="training examples to generate, half of each class")
    dev_rows: int = setting(200, at_least=2, at_most=10_000, unit="examples", help="development examples to generate")
    test_rows: int = setting(400, at_least=2, at_most=10_000, unit="examples", help="test examples to generate")
    seed: int = setting(0, at_least=0, help="another seed generates other pairs")

    def load(self) -> TaskData:
        """Generate the pairs; none is repeated, and none occurs in the challenge set."""
        source = random.Random(self.seed)
        seen: set[tuple[str, str]] = set()
        sizes = {"test": self.test_rows, "validation": self.dev_rows, "train": self.rows}
        rate = UNINFORMATIVE if self.shortcut is None else self.shortcut
        splits = {split: write_pairs(split, size, rate, source, seen, apart=False) for split, size in sizes.items()}
        return assemble(
            self.label, COLUMNS, splits, declared=LABELS, subsets=SUBSETS, train_rows=self.train_rows, train_share=self.train_share
        )


@frozen
class DemoPairsOOD(Task):
    """The challenge set of ``demo_nli``: the same words and constructions about other events; the shortcut is right for half of the pairs.

    Both labels are equally frequent with and without word overlap, so that the shortcut has an accuracy of 0.5.
    """

    name: ClassVar[str] = "demo_nli_ood"
    summary: ClassVar[str] = "built-in challenge set of demo_nli: word overlap says nothing about the label"

    test_rows: int = setting(400, at_least=4, at_most=10_000, unit="examples", help="examples to generate")
    seed: int = setting(0, at_least=0, help="another seed generates other pairs")

    def load(self) -> TaskData:
        """Generate the pairs, without repetitions."""
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Generate the pairs; with ``train_share`` there is no dev split."""
        return self._load(challenge=True)

    def _load(self, *, challenge: bool) -> TaskData:
        splits = {"test": write_pairs("test", self.test_rows, UNINFORMATIVE, random.Random(self.seed), set(), apart=True)}
        return assemble(
            self.label,
            COLUMNS,
            splits,
            declared=LABELS,
            subsets=SUBSETS,
            train_rows=self.train_rows,
            train_share=self.train_share,
            challenge=challenge,
        )


def write_pairs(split: str, size: int, rate: float, source: random.Random, seen: set[tuple[str, str]], *, apart: bool) -> list[LabelledRow]:
    """Generate a split with alternating labels, in which overlap agrees with the label at this ``rate``.

    Pairs in ``seen`` are discarded, and new ones are added to it.
    """
    share = Fraction(str(rate))
    rows: list[LabelledRow] = []
    while len(rows) < size:
        entailed = len(rows) % 2 == 0
        contained = entailed == follows_shortcut(len(rows) // 2, share)
        texts = pair(source, entailed, contained, apart)
        if texts not in seen:
            seen.add(texts)
            wording = "contained" if contained else "reworded"
            rows.append(LabelledRow(f"{split}-{len(rows)}", texts, LABELS[0 if entailed else 1], (wording,)))
    return rows


def follows_shortcut(index: int, share: Fraction) -> bool:
    """Return whether the shortcut holds for example ``index`` of a class: it holds for ``share`` x n of the first n, rounded half up."""
    half = Fraction(1, 2)
    return floor((index + 1) * share + half) > floor(index * share + half)
