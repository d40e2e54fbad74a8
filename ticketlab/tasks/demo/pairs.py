"""The embedded pair tasks: a shortcut that holds in training, as often as is asked for, and a challenge set where it does not."""

from __future__ import annotations

import random
from fractions import Fraction
from math import floor
from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.demo.pairs_text import pair
from ticketlab.tasks.reading.rows import LabelledRow

COLUMNS = ("premise", "hypothesis")
LABELS = ("entailment", "non-entailment")
SUBSETS = ("heuristic",)


@frozen
class DemoPairs(Task):
    """Does the hypothesis follow? The premise's verb decides; that all words of the hypothesis are the premise's is the shortcut.

    With strength s a share of (1 + s) / 2 of each class, in every split, goes with the shortcut and the rest against it: at 1 the shortcut
    is never wrong, at 0 it says nothing. Test and development texts stay the same however many training rows are asked for.
    """

    name: ClassVar[str] = "demo_nli"
    summary: ClassVar[str] = "embedded sentence pairs, two classes, with a word-overlap shortcut as strong as is asked for"

    strength: float = setting(0.9, at_least=0, at_most=1, help="the shortcut is right in (1 + strength) / 2 of the examples of each class")
    rows: int = setting(1000, at_least=2, at_most=50_000, unit="examples", help="training examples to generate, half of each class")
    dev_rows: int = setting(200, at_least=2, at_most=10_000, unit="examples", help="development examples to generate")
    test_rows: int = setting(400, at_least=2, at_most=10_000, unit="examples", help="test examples to generate")
    seed: int = setting(0, at_least=0, help="another seed writes other pairs")

    def load(self) -> TaskData:
        """Generate the pairs; none comes twice, nor in the challenge set."""
        source = random.Random(self.seed)
        seen: set[tuple[str, str]] = set()
        sizes = {"test": self.test_rows, "validation": self.dev_rows, "train": self.rows}
        splits = {split: write(split, size, self.strength, source, seen, apart=False) for split, size in sizes.items()}
        return assemble(
            self.label, COLUMNS, splits, declared=LABELS, subsets=SUBSETS, train_rows=self.train_rows, train_share=self.train_share
        )


@frozen
class DemoPairsOOD(Task):
    """The challenge set of ``demo_nli``: the same words and constructions about other events, and the shortcut is right in half of them.

    Both labels are equally frequent where the words are contained and where they are not, so that the shortcut has an accuracy of 0.5.
    """

    name: ClassVar[str] = "demo_nli_ood"
    summary: ClassVar[str] = "embedded challenge set of demo_nli: word overlap says nothing about the label"

    test_rows: int = setting(400, at_least=4, at_most=10_000, unit="examples", help="examples to generate")
    seed: int = setting(0, at_least=0, help="another seed writes other pairs")

    def load(self) -> TaskData:
        """Generate the pairs; none comes twice."""
        return self._load(challenge=False)

    def load_challenge(self) -> TaskData:
        """Generate the pairs; with ``train_share`` nothing of them is for development."""
        return self._load(challenge=True)

    def _load(self, *, challenge: bool) -> TaskData:
        splits = {"test": write("test", self.test_rows, 0.0, random.Random(self.seed), set(), apart=True)}
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


def write(split: str, size: int, strength: float, source: random.Random, seen: set[tuple[str, str]], *, apart: bool) -> list[LabelledRow]:
    """Write a split, both labels in turn; pairs that were ``seen`` are written anew, and ``seen`` grows."""
    share = (1 + Fraction(str(strength))) / 2
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
    """Say whether the ``index``-th example of a class goes with the shortcut: of the first n, ``share`` x n do, halves rounded up."""
    half = Fraction(1, 2)
    return floor((index + 1) * share + half) > floor(index * share + half)
