"""The examples that a training stage learns from: the task's own, adversarial texts of an attack, and examples of challenge sets."""

from __future__ import annotations

from typing import Any

from ticketlab.attacks.results import augmentation
from ticketlab.attacks.results.augmentation import AugmentedTask
from ticketlab.core.errors import SettingError
from ticketlab.stages.base import Context, Stage
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets

AUGMENT = "augment"
"""The reference that names the adversarial texts."""


def training_data(context: Context, mix_ood: int) -> TaskData:
    """Return the task's data with the training examples to add: adversarial texts, and ``mix_ood`` copies of those of challenge sets."""
    augmented = _augmented(context)
    data = augmented.data if augmented else context.data
    return challenge_sets.mix(data, context.ood, context.ood_map, mix_ood) if mix_ood else data


def added_examples(context: Context, mix_ood: int, augment: str | None) -> dict[str, Any]:
    """Return the facts about added examples for the stage's result: the counts of each challenge set and of each attack."""
    facts: dict[str, Any] = {}
    if mix_ood:
        facts["mixed"] = {data.name: mix_ood * len(data.splits["train"]) for data in context.ood if data.splits["train"]}
    augmented = _augmented(context)
    if augmented:
        facts["augmented"] = {"by": augment, **augmented.facts()}
    return facts


def check_augmentation(augment: str, attack: Stage | None) -> None:
    """Refuse to learn from attacks on examples that are not training examples. ``attack`` is the stage, None for a file or folder.

    :raises SettingError: the attack stage attacks another split.
    """
    split = getattr(attack, "split", augmentation.SPLIT)
    if split != augmentation.SPLIT:
        raise SettingError(
            f"augment: `{augment}` attacks {split} examples, and training may use only training examples "
            f"(--set {augment}.split={augmentation.SPLIT})"
        )


def _augmented(context: Context) -> AugmentedTask | None:
    if AUGMENT not in context.inputs:
        return None
    source = context.inputs[AUGMENT]
    return augmentation.augment(context.data, augmentation.read_texts(source.folder, is_stage=source.is_stage))
