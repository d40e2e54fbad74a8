"""Arranges the splits that a data set has as ``train``, ``dev`` and ``test``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.tasks.reading.hash_order import Labelled
from ticketlab.tasks.reading.splits import hold_out, make_challenge_splits, make_splits, take_training_share
from ticketlab.tasks.reading.text_equality import TextGroups

E = TypeVar("E", bound=Labelled)


@frozen
class Arrangement(Generic[E]):
    """The splits ``train``, ``dev`` and ``test``.

    ``trains`` is whether models can be trained on the data. ``explanation`` says, for error messages, why few rows may be left for a split.
    """

    splits: Mapping[str, Sequence[E]]
    trains: bool
    explanation: str

    @property
    def known(self) -> Sequence[E]:
        """The examples whose labels a model can know: those of train, or of test if there is no training split."""
        return self.splits["train" if self.trains else "test"]


def arrange(
    source: str,
    splits: Mapping[str, Sequence[E]],
    equal: TextGroups,
    *,
    train_share: float | None,
    challenge: bool,
    dropped: Mapping[str, int],
) -> Arrangement[E]:
    """Divide or rename the splits (``train``, ``validation``, ``test``); examples with equal texts stay on one side of every division.

    :raises DataError: a split that is needed has no examples; ``train_share`` is set for data with a training split or several splits.
    """
    shared = _share_for_training(source, splits, train_share, equal.same, challenge)
    if shared and not challenge and shared["train"]:
        shared["train"], shared["dev"] = hold_out(shared["train"], equal.same)
    arranged = shared or (make_challenge_splits(splits, equal.same) if challenge else make_splits(splits, equal.same))
    trains = bool(shared) or "train" in splits
    divided = bool(shared) or (len(splits) < 3 and "train" in splits)
    explanation = _explain_equal_texts(equal) if divided and equal.same else ""
    for split, rows in arranged.items():
        needed = split == "test" or (trains and not challenge and not (shared and split == "dev")) or (split == "train" and train_share)
        if rows or not needed:
            continue
        if train_share is not None and any(arranged.values()):
            total, other = sum(map(len, arranged.values())), "smaller" if split == "test" else "larger"
            what = f"{train_share:g} of {counted(total, 'row')} leaves none for the {split} split{explanation}"
            raise DataError(f"{source}: train_share: {what}; use a {other} share")
        dropped_rows = "".join(f", {count} {reason}" for reason, count in dropped.items())
        raise DataError(f"{source}: no usable rows are left for the {split} split{dropped_rows}{explanation}")
    return Arrangement(arranged, trains, explanation)


def _explain_equal_texts(equal: TextGroups) -> str:
    """Explain that equal texts may leave too few rows for a split."""
    different = len(set(map(equal.key, equal.texts)))
    return f" ({len(equal.texts)} rows have {counted(different, 'different text')}, and rows with equal texts stay in one split)"


def _share_for_training(
    source: str, splits: Mapping[str, Sequence[E]], share: float | None, same: Mapping[str, str], challenge: bool
) -> dict[str, list[E]]:
    """Return the splits, with ``share`` of the only split used for training; an empty mapping if ``share`` is None."""
    if share is None:
        return {}
    if "train" in splits:
        raise DataError(f"{source}: train_share: the set already has a training split; remove train_share, or use train_rows to sample it")
    if len(splits) > 1:
        raise DataError(
            f"{source}: train_share: the set has {' and '.join(splits)} splits, and only a single split can be divided; keep one of them"
        )
    ((_, everything),) = splits.items()
    train, test = take_training_share(everything, share, same, challenge=challenge)
    return {"train": train, "dev": [], "test": test}
