"""The similarity of adversarial examples and originals by a sentence encoder, computed from the records after the attack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from ticketlab.attacks.results.record import Record
from ticketlab.core.formatting import percent
from ticketlab.resources.resources import Resources
from ticketlab.training.input_coverage import UNKNOWN

if TYPE_CHECKING:
    from ticketlab.resources.sentence_encoder import SentenceEncoder

AUTO = "auto"
"""The encoder of the installed package, if there is one."""


def with_similarity(records: Iterable[Record], encoder: SentenceEncoder) -> list[Record]:
    """Return the records with the cosine similarity of original and changed text in each success.

    The texts of a pair are embedded as one, joined by a line break as in textattack.
    """
    from torch.nn.functional import cosine_similarity

    records = list(records)
    successes = [record for record in records if record.status == "success"]
    if not successes:
        return records
    texts = ["\n".join(texts) for record in successes for texts in (record.original, record.perturbed)]
    embedded = encoder.encode(texts).double()
    cosines = cosine_similarity(embedded[::2], embedded[1::2], dim=1).clamp(-1, 1).tolist()
    measured = {record.id: evolve(record, similarity=cosine) for record, cosine in zip(successes, cosines, strict=True)}
    return [measured.get(record.id, record) for record in records]


def language_warning(records: Iterable[Record], encoder: SentenceEncoder) -> str:
    """Return a warning if the encoder does not know the language of the texts that it compared, otherwise an empty string."""
    share = encoder.unknown_share([text for record in records if record.status == "success" for text in record.original])
    return f"the sentence encoder knows only {percent(1 - share)} of the tokens of these texts: Similarity says little about them" * (
        share > UNKNOWN
    )


def find_encoder(name: str | None, flag: str = "--set attack.similarity=NAME") -> Resources | None:
    """Return the resources with the requested encoder (a name, a folder, or :data:`AUTO`), or None. ``flag`` is the option that named it.

    :raises ResourceError: the named encoder is not available.
    """
    if name is None:
        return None
    resources = Resources(encoder=None if name == AUTO else name)
    if name != AUTO:
        resources.check(["encoder"], engine=(), flags={"encoder": flag})
    return resources if resources.where("encoder") is not None else None
