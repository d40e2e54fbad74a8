"""Model families that a generated adapter can be for: their modules have the names of BERT's, and no built-in adapter supports them."""

from __future__ import annotations

from attrs import frozen

from ticketlab.backbone import adapters
from ticketlab.core.errors import UsageError


@frozen
class Family:
    """A family of transformers models: the ``model_type`` of its configs, and its name."""

    model_type: str
    title: str


FAMILIES = (Family("ernie", "ERNIE"), Family("megatron-bert", "Megatron-BERT"))


def free_family() -> Family:
    """Return the first family that no installed adapter supports, because two adapters of one family cannot be used together.

    :raises UsageError: there are adapters for all of them.
    """
    taken = set(adapters.model_types())
    for family in FAMILIES:
        if family.model_type not in taken:
            return family
    titles = " and ".join(family.title for family in FAMILIES)
    raise UsageError(
        f"--kind backbone: adapters are generated for {titles}, and plugins for both are installed; switch one off (--no-plugin)"
    )
