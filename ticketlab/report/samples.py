"""The examples behind the numbers of an attack: how many of its sample were attacked, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen


@frozen
class Sample:
    """What became of a sample of ``size`` examples of ``split``, attacked once.

    ``skipped`` were misclassified before the attack; of those that ended in ``errors`` or ``timeouts`` nothing is known.
    """

    split: str
    size: int
    skipped: int
    errors: int
    timeouts: int

    @classmethod
    def of(cls, split: str, found: Mapping[str, Any]) -> Sample:
        """Return the sample of what an attack's part of a ``results.json`` says."""
        errors, timeouts = found.get("errors", 0), found.get("timeouts", 0)
        return cls(split, found["n"] + errors + timeouts, found.get("skipped", 0), errors, timeouts)

    @property
    def unknown(self) -> int:
        """How many have no result."""
        return self.errors + self.timeouts

    @property
    def attacked(self) -> int:
        """How many were attacked and have a result: those behind the success rate and the number of queries."""
        return self.size - self.skipped - self.unknown


def described(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield a description of the samples of each split, such as ``sample of 100 test examples, 86 attacked``."""
    by_split: dict[str, list[Sample]] = {}
    for sample in samples:
        by_split.setdefault(sample.split, []).append(sample)
    for split, alike in sorted(by_split.items()):
        yield "; ".join(_parts(split, alike))


def _parts(split: str, samples: Sequence[Sample]) -> Iterator[str]:
    size, attacked = _range([one.size for one in samples]), _range([one.attacked for one in samples])
    named = {"": "", "all": "", "train": "training "}.get(split, f"{split} ") + ("example" if size == "1" else "examples")
    every = " of all splits" if split == "all" else ""
    yield f"sample of {size} {named}{every}, {'all' if attacked == size != '0' else attacked} attacked"
    skipped, unknown = _range([one.skipped for one in samples]), _range([one.unknown for one in samples])
    if skipped != "0":
        yield f"{skipped} misclassified before the attack {'was' if skipped == '1' else 'were'} skipped: in Clean and Aua, not in Suc"
    if unknown != "0":
        yield f"{unknown} {'has' if unknown == '1' else 'have'} no result"


def _range(numbers: Sequence[int]) -> str:
    """Return ``3`` or ``3 to 7``."""
    few, most = min(numbers), max(numbers)
    return str(most) if few == most else f"{few} to {most}"
