"""The examples behind an attack's numbers: how many of its sample were attacked, skipped, or left without a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import number_range


@frozen
class AttackedSample:
    """The outcome of one attack on a sample of ``size`` examples of ``split``.

    ``skipped`` examples were misclassified before the attack; those that ended in ``errors`` or ``timeouts`` have no result.
    """

    split: str
    size: int
    skipped: int
    errors: int
    timeouts: int

    @classmethod
    def of(cls, split: str, result: Mapping[str, Any]) -> AttackedSample:
        """Return the sample described by one attack's part of a ``results.json``."""
        errors, timeouts = result.get("errors", 0), result.get("timeouts", 0)
        return cls(split, result["n"] + errors + timeouts, result.get("skipped", 0), errors, timeouts)

    @property
    def unknown(self) -> int:
        """The number of examples without a result."""
        return self.errors + self.timeouts

    @property
    def attacked(self) -> int:
        """The number of attacked examples with a result: those behind the success rate and the number of queries."""
        return self.size - self.skipped - self.unknown


def describe_samples(samples: Iterable[AttackedSample]) -> Iterator[str]:
    """Yield a description of the samples of each split, such as ``sample of 100 test examples, 86 attacked``."""
    by_split: dict[str, list[AttackedSample]] = {}
    for sample in samples:
        by_split.setdefault(sample.split, []).append(sample)
    for split, same_split in sorted(by_split.items()):
        yield "; ".join(_parts(split, same_split))


def _parts(split: str, samples: Sequence[AttackedSample]) -> Iterator[str]:
    size, attacked = number_range([sample.size for sample in samples]), number_range([sample.attacked for sample in samples])
    examples = {"": "", "all": "", "train": "training "}.get(split, f"{split} ") + ("example" if size == "1" else "examples")
    of_all = " of all splits" if split == "all" else ""
    yield f"sample of {size} {examples}{of_all}, {'all' if attacked == size != '0' else attacked} attacked"
    skipped, unknown = number_range([sample.skipped for sample in samples]), number_range([sample.unknown for sample in samples])
    if skipped != "0":
        was = "was" if skipped == "1" else "were"
        yield f"{skipped} misclassified before the attack {was} skipped: counted in Clean and Aua, not in Suc"
    if unknown != "0":
        yield f"{unknown} {'has' if unknown == '1' else 'have'} no result"
