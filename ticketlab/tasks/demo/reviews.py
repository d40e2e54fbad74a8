"""The built-in demo task: review sentences, generated without network access and identical on every machine."""

from __future__ import annotations

import random
from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.tasks.assembly.assemble import assemble
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.demo.reviews_text import review
from ticketlab.tasks.reading.rows import LabelledRow

LABELS = ("negative", "positive")


@frozen
class DemoTask(Task):
    """Reviews whose label depends on negation and contrast. Test and dev texts do not depend on the number of training rows."""

    name: ClassVar[str] = "demo"
    summary: ClassVar[str] = "built-in review sentences, two classes, with negation and contrast"

    rows: int = setting(3000, at_least=2, at_most=50_000, unit="examples", help="training examples to generate, half of each class")
    dev_rows: int = setting(300, at_least=2, at_most=10_000, unit="examples", help="development examples to generate")
    test_rows: int = setting(400, at_least=2, at_most=10_000, unit="examples", help="test examples to generate")
    seed: int = setting(0, at_least=0, help="another seed generates other reviews")

    def load(self) -> TaskData:
        """Generate the reviews, without repeated texts."""
        source = random.Random(self.seed)
        seen: set[str] = set()
        sizes = {"test": self.test_rows, "validation": self.dev_rows, "train": self.rows}
        splits = {split: self._write(split, size, source, seen) for split, size in sizes.items()}
        return assemble(self.label, ("text",), splits, declared=LABELS, train_rows=self.train_rows, train_share=self.train_share)

    def _write(self, split: str, size: int, source: random.Random, seen: set[str]) -> list[LabelledRow]:
        rows: list[LabelledRow] = []
        while len(rows) < size:
            opinion = len(rows) % 2
            text = review(source, opinion)
            if text not in seen:
                seen.add(text)
                rows.append(LabelledRow(f"{split}-{len(rows)}", (text,), LABELS[opinion]))
        return rows
