"""A task of a plugin: sentences that are generated, so that a test can count on each of them."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.plugin import Example, Task, TaskData, hookimpl, setting

LABELS = ("sad", "merry")
WEATHER = ("grey", "bright")


@frozen
class Moods(Task):
    """Sentences about merry and sad weather. There is no dev split: it is taken from train."""

    name: ClassVar[str] = "moods"
    summary: ClassVar[str] = "generated sentences of two moods"

    rows: int = setting(40, at_least=4, help="training examples to generate")
    flipped: bool = setting(False, help="swap the labels")

    def load(self) -> TaskData:
        return TaskData(
            name=self.name,
            columns=("text",),
            label_names=LABELS,
            splits={"train": self._examples("train", self.rows), "test": self._examples("test", 12)},
        )

    def _examples(self, split: str, size: int) -> tuple[Example, ...]:
        return tuple(
            Example(f"{split}-{number}", (f"a {WEATHER[number % 2]} day, the {number}th of {split}",), (number + self.flipped) % 2)
            for number in range(size)
        )


@hookimpl
def ticketlab_tasks() -> list[type[Task]]:
    return [Moods]
