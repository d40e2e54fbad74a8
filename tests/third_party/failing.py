"""Components that fail, each in another way: a plugin in one file, for tests of error messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.plugin import (
    Adapter,
    Adversary,
    Attack,
    Batch,
    Component,
    LossFunction,
    Resources,
    Task,
    TaskData,
    Victim,
    hookimpl,
    setting,
)


def broken(what: str) -> Any:
    """Fail, below the method that was called."""
    raise ValueError(f"{what} is\nbroken")


@frozen
class FailingAdversary(Adversary):
    """Fails in its first step."""

    name: ClassVar[str] = "failing"
    summary: ClassVar[str] = "fails in its first step"

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        """Fail."""
        loss: Tensor = broken("the step")
        return loss


@frozen
class FailingTask(Task):
    """Fails when it is loaded."""

    name: ClassVar[str] = "failing"
    summary: ClassVar[str] = "fails when it is loaded"

    def load(self) -> TaskData:
        """Fail."""
        data: TaskData = broken("the file")
        return data


@frozen
class FailingAdapter(Adapter):
    """Fails when a tokenizer is loaded."""

    name: ClassVar[str] = "failing"
    summary: ClassVar[str] = "fails when a tokenizer is loaded"
    model_types: ClassVar[tuple[str, ...]] = ("failing",)
    layers: ClassVar[str] = "encoder.layer"
    query: ClassVar[str] = "attention.self.query"
    key: ClassVar[str] = "attention.self.key"
    value: ClassVar[str] = "attention.self.value"
    attention_output: ClassVar[str] = "attention.output.dense"
    ffn_in: ClassVar[str] = "intermediate.dense"
    ffn_out: ClassVar[str] = "output.dense"

    def max_length(self, config: Any) -> int:
        """Fail."""
        length: int = broken("the length")
        return length


@frozen
class FailingAttack(Attack):
    """Swaps letters, and fails on texts with one of its words."""

    name: ClassVar[str] = "failing"
    summary: ClassVar[str] = "fails on some texts"

    word: str = setting("awful", help="the word of the texts that it fails on; `always` fails before the first text")

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Return the attack."""
        from textattack import Attack as TextAttack
        from textattack.constraints.pre_transformation import RepeatModification
        from textattack.search_methods import GreedyWordSwapWIR
        from textattack.transformations import WordSwapNeighboringCharacterSwap

        if self.word == "always":
            broken("the attack")
        built = TextAttack(self.goal(victim), [RepeatModification()], WordSwapNeighboringCharacterSwap(), GreedyWordSwapWIR("delete"))
        built.attack = functools.partial(fail_on, self.word, built.attack)
        return built


def fail_on(word: str, attack: Callable[..., Any], text: Any, label: int) -> Any:
    """Attack a text, or fail if it has the word."""
    return broken("the attack") if word in text.text else attack(text, label)


@hookimpl
def ticketlab_adversaries() -> list[type[Component]]:
    """Return the adversary."""
    return [FailingAdversary]


@hookimpl
def ticketlab_tasks() -> list[type[Component]]:
    """Return the task."""
    return [FailingTask]


@hookimpl
def ticketlab_backbones() -> list[type[Component]]:
    """Return the adapter."""
    return [FailingAdapter]


@hookimpl
def ticketlab_attacks() -> list[type[Component]]:
    """Return the attack."""
    return [FailingAttack]
