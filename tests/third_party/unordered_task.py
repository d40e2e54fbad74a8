"""A task with a mistake, in a module that imports no more than it needs: the order of its examples is that of a set."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, frozen

from third_party.moods_task import Moods
from ticketlab.plugin import Example, TaskData


@frozen
class Unordered(Moods):
    """The order of its texts is that of a set."""

    name: ClassVar[str] = "unordered"

    def load(self) -> TaskData:
        data = Moods.load(self)
        texts = {example.texts[0] for example in data.splits["train"]}
        train = tuple(Example(f"train-{number}", (text,), int("bright" in text)) for number, text in enumerate(texts))
        return evolve(data, splits={**data.splits, "train": train})
