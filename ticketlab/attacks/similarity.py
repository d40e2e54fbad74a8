"""How near the texts that led a victim astray are to the originals, by a sentence encoder: computed from the records, after the attack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ticketlab.attacks.records import Record
from ticketlab.attacks.resources import Resources

if TYPE_CHECKING:
    from ticketlab.attacks.sentence_encoder import Encoder

AUTO = "auto"
"""Stands for the encoder of the installed package, if there is one."""


def similarities(records: Iterable[Record], encoder: Encoder) -> list[float]:
    """Return the cosine of original and changed text for each success, in the order of the records.

    The texts of a pair are embedded as one, with a line break between them, as textattack joins them.
    """
    from torch.nn.functional import cosine_similarity

    pairs = [("\n".join(record.original), "\n".join(record.perturbed)) for record in records if record.status == "success"]
    if not pairs:
        return []
    embedded = encoder.encode([text for pair in pairs for text in pair]).double()
    found: list[float] = cosine_similarity(embedded[::2], embedded[1::2], dim=1).clamp(-1, 1).tolist()
    return found


def find_encoder(asked: str | None) -> Resources | None:
    """Return what loads the encoder that is asked for (a name, a folder, or :data:`AUTO`); None for none.

    :raises ResourceError: one is named, and it is not there.
    """
    if asked is None:
        return None
    resources = Resources(encoder=None if asked == AUTO else asked)
    if asked != AUTO:
        resources.check(["encoder"], engine=())
    return resources if resources.where("encoder") is not None else None
