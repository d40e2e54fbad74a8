"""What the stages in a ``results.json`` say about one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TRAININGS = ("train", "search")


def learnt_from(stages: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return the names of the attack stages whose texts a training learns from: they are no measurement of the model attacked.

    ``stages`` are those of one task and seed, by name.
    """
    made = [stage.get(str(stage.get("kind")), {}) for stage in stages.values() if stage.get("kind") in TRAININGS]
    return {str(one["augmented"]["by"]) for one in made if "augmented" in one} & stages.keys()
