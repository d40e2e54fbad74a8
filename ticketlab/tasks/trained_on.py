"""Hashes of the texts that a model was trained on, in a file inside its folder: a later command knows by them what is no new text to it.

Equal texts (:mod:`ticketlab.tasks.reading.text_equality`) have equal hashes: BLAKE2b of 8 bytes, so that 67,000 texts take 0.5 MB, and one
of a billion comparisons of unrelated ones errs with a probability of 5e-11.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.text_equality import canonical, folded

Hashes = NDArray[np.uint64]
FILE = "trained_on.safetensors"
TRAIN, DEV, TEXT = "train", "dev", "text"
"""What texts were used for: learnt from with their labels, to select by, learnt from without labels."""
SWAPPED = "swapped"
"""What pairs count as that were trained on in the other order alone."""
NONE = np.empty(0, np.uint64)


@frozen(eq=False)
class TrainedOn:
    """Sorted hashes by what the texts were used for. It has the trainings that are known: what made a pre-trained model is not in it."""

    hashes: Mapping[str, Hashes] = field(factory=dict)

    def __bool__(self) -> bool:
        return any(map(len, self.hashes.values()))

    def __or__(self, other: TrainedOn | None) -> TrainedOn:
        """Return the texts of both."""
        theirs = {} if other is None else other.hashes
        kinds = sorted({*self.hashes, *theirs})
        return TrainedOn({kind: np.union1d(self.hashes.get(kind, NONE), theirs.get(kind, NONE)) for kind in kinds})

    def without(self, kind: str) -> TrainedOn:
        """Return it without what was used so."""
        return TrainedOn({name: found for name, found in self.hashes.items() if name != kind})

    def count(self, examples: Sequence[Example]) -> dict[str, int]:
        """Return how many of the examples are among the texts, by what these were used for.

        In ``text`` an example counts if one of its texts is there, and as swapped if the pair is in training in the other order alone.
        """
        train, dev, text = (self.hashes.get(kind, NONE) for kind in (TRAIN, DEV, TEXT))
        own = _hashes(example.texts for example in examples)
        inside, selected = np.isin(own, train), np.isin(own, dev)
        turned = np.isin(_hashes(example.texts[::-1] for example in examples if len(example.texts) > 1), train)
        columns = zip(*(example.texts for example in examples), strict=True) if len(text) else ()
        read = [np.isin(_hashes((one,) for one in column), text) for column in columns]
        return {
            TRAIN: int(inside.sum()),
            SWAPPED: int((turned & ~inside).sum()) if len(turned) else 0,
            DEV: int(selected.sum()),
            TEXT: int(np.any(read, axis=0).sum()) if read else 0,
        }

    def save(self, folder: Path) -> None:
        """Write the file into a folder; nothing where nothing is known."""
        if self:
            files.write_atomic(folder / FILE, lambda path: save_file(dict(self.hashes), path))


def of_texts(**texts: Iterable[Sequence[str]]) -> TrainedOn:
    """Return the hashes of texts, each a tuple of its columns, by what they were used for."""
    return TrainedOn({kind: np.unique(_hashes(own)) for kind, own in texts.items()})


def find(folder: str | Path) -> TrainedOn | None:
    """Return what is known of a model in its folder, or of a search or ticket in that of its stage; None where there is no file.

    :raises Damaged: it is not what the stage left.
    :raises UsageError: it is none of hashes.
    """
    path = files.expand(folder) / FILE
    if not path.is_file():
        return None
    integrity.check(path)
    try:
        found = load_file(path)
    except (SafetensorError, OSError) as problem:
        raise UsageError(f"{path}: damaged ({problem}); remove it, and what the model was trained on is unknown") from None
    wrong = [kind for kind, own in found.items() if own.dtype != np.uint64 or own.ndim != 1]
    if wrong:
        raise UsageError(f"{path}: `{wrong[0]}` is no list of hashes; remove the file, and what the model was trained on is unknown")
    return TrainedOn(found)


def _hashes(texts: Iterable[Sequence[str]]) -> Hashes:
    return np.fromiter(map(_hash, texts), np.uint64)


def _hash(texts: Sequence[str]) -> int:
    """Return the hash of an example's texts; canonical ones hold no NUL character, so that it divides them."""
    whole = "\0".join(folded([canonical(text) for text in texts]))
    return int.from_bytes(hashlib.blake2b(whole.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
