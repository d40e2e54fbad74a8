"""How near the texts that fooled a victim are to the originals, by a sentence encoder: computed from the records, after the attack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from ticketlab.attacks.results.records import Record
from ticketlab.core.formatting import percent
from ticketlab.resources.resources import Resources
from ticketlab.training.input_coverage import UNKNOWN

if TYPE_CHECKING:
    from ticketlab.resources.sentence_encoder import Encoder

AUTO = "auto"
"""Stands for the encoder of the installed package, if there is one."""


def with_similarity(records: Iterable[Record], encoder: Encoder) -> list[Record]:
    """Return the records, each success with the cosine of original and changed text.

    The texts of a pair are embedded as one, with a line break between them, as textattack joins them.
    """
    from torch.nn.functional import cosine_similarity

    records = list(records)
    successes = [record for record in records if record.status == "success"]
    if not successes:
        return records
    texts = ["\n".join(texts) for record in successes for texts in (record.original, record.perturbed)]
    embedded = encoder.encode(texts).double()
    cosines = cosine_similarity(embedded[::2], embedded[1::2], dim=1).clamp(-1, 1).tolist()
    found = {record.id: evolve(record, similarity=cosine) for record, cosine in zip(successes, cosines, strict=True)}
    return [found.get(record.id, record) for record in records]


def doubt(records: Iterable[Record], encoder: Encoder) -> str:
    """Return a warning if the encoder does not know the language of the texts that it compared, else an empty string."""
    share = encoder.unknown_share([text for record in records if record.status == "success" for text in record.original])
    return f"the encoder of Similarity knows {percent(1 - share)} of the tokens of these texts: it says little about them" * (
        share > UNKNOWN
    )


def find_encoder(asked: str | None, flag: str = "--set attack.similarity=NAME") -> Resources | None:
    """Return what loads the encoder that is asked for (a name, a folder, or :data:`AUTO`); None for none. ``flag`` asked for it.

    :raises ResourceError: one is named, and it is not there.
    """
    if asked is None:
        return None
    resources = Resources(encoder=None if asked == AUTO else asked)
    if asked != AUTO:
        resources.check(["encoder"], engine=(), flags={"encoder": flag})
    return resources if resources.where("encoder") is not None else None
