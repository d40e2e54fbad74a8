"""Hashes of the texts that a model was trained on, stored in its folder, so that later commands can recognise these texts.

Equal texts (:mod:`ticketlab.tasks.reading.text_equality`) have equal hashes. The hash is BLAKE2b with 8 bytes: 67,000 texts take 0.5 MB,
and the probability that any of a billion comparisons of different texts is wrong is 5e-11.
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
from ticketlab.lab import integrity, mirror
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.text_equality import canonical_text, fold_texts

Hashes = NDArray[np.uint64]
FILE = "trained_on.safetensors"
TRAIN, DEV, TEXT = "train", "dev", "text"
"""Uses of texts: training with their labels, model selection, training without labels."""
SWAPPED = "swapped"
"""The count of pairs that were trained on in the swapped order only."""
NO_HASHES = np.empty(0, np.uint64)


@frozen(eq=False)
class TrainedOn:
    """Hashes of the known training texts of a model. Its pre-training data is not included."""

    hashes: Mapping[str, Hashes] = field(factory=dict)
    """Sorted hashes by use: ``train`` (with labels), ``dev`` (for selection), ``text`` (without labels)."""

    def __bool__(self) -> bool:
        return any(map(len, self.hashes.values()))

    def __or__(self, other: TrainedOn | None) -> TrainedOn:
        """Return the union of both."""
        theirs = {} if other is None else other.hashes
        kinds = sorted({*self.hashes, *theirs})
        return TrainedOn({kind: np.union1d(self.hashes.get(kind, NO_HASHES), theirs.get(kind, NO_HASHES)) for kind in kinds})

    def without(self, kind: str) -> TrainedOn:
        """Return the hashes without those of this use."""
        return TrainedOn({name: hashes for name, hashes in self.hashes.items() if name != kind})

    def count(self, examples: Sequence[Example]) -> dict[str, int]:
        """Return the number of examples whose texts were used, by use.

        An example counts as ``text`` if any of its texts was used without labels, and as ``swapped`` if only the swapped pair was used.
        """
        train, dev, text = (self.hashes.get(kind, NO_HASHES) for kind in (TRAIN, DEV, TEXT))
        own = _hashes(example.texts for example in examples)
        trained, selected = np.isin(own, train), np.isin(own, dev)
        swapped = np.isin(_hashes(example.texts[::-1] for example in examples if len(example.texts) > 1), train)
        columns = zip(*(example.texts for example in examples), strict=True) if len(text) else ()
        unlabelled = [np.isin(_hashes((single,) for single in column), text) for column in columns]
        return {
            TRAIN: int(trained.sum()),
            SWAPPED: int((swapped & ~trained).sum()) if len(swapped) else 0,
            DEV: int(selected.sum()),
            TEXT: int(np.any(unlabelled, axis=0).sum()) if unlabelled else 0,
        }

    def save(self, folder: Path) -> None:
        """Write the file into a folder; does nothing if there are no hashes."""
        if self:
            files.write_atomic(folder / FILE, lambda path: save_file(dict(self.hashes), path))


def hash_texts(**texts: Iterable[Sequence[str]]) -> TrainedOn:
    """Return the hashes of texts by use; each item is a tuple with one text for each column."""
    return TrainedOn({kind: np.unique(_hashes(own)) for kind, own in texts.items()})


def load_hashes(folder: str | Path) -> TrainedOn | None:
    """Load the hashes from the folder of a model, or of the stage of a search or ticket; None if there is no file.

    :raises Damaged: the file is not the one that the stage wrote.
    :raises UsageError: the file does not contain hashes.
    """
    path = files.expand(folder) / FILE
    mirror.fetch(path)
    if not path.is_file():
        return None
    integrity.check(path)
    try:
        hashes = load_file(path)
    except (SafetensorError, OSError) as problem:
        raise UsageError(f"{path}: damaged ({problem}); if you remove it, the texts the model was trained on are unknown") from None
    wrong = [kind for kind, own in hashes.items() if own.dtype != np.uint64 or own.ndim != 1]
    if wrong:
        raise UsageError(
            f"{path}: `{wrong[0]}` is not a list of hashes; if you remove the file, the texts the model was trained on are unknown"
        )
    return TrainedOn(hashes)


def _hashes(texts: Iterable[Sequence[str]]) -> Hashes:
    return np.fromiter(map(_hash, texts), np.uint64)


def _hash(texts: Sequence[str]) -> int:
    """Return the hash of an example's texts, joined by NUL, which canonical texts never contain."""
    whole = "\0".join(fold_texts([canonical_text(text) for text in texts]))
    return int.from_bytes(hashlib.blake2b(whole.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
