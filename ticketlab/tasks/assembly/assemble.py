"""Assembles a task from labelled rows: splits, label indices, training sample, warnings and fingerprint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ticketlab.core.errors import DataError
from ticketlab.tasks.assembly import classes
from ticketlab.tasks.assembly.arrangement import arrange
from ticketlab.tasks.assembly.completion import complete
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.reading import labels
from ticketlab.tasks.reading.rows import LabelledRow
from ticketlab.tasks.reading.text_equality import canonical_text, group_equal_texts

CHALLENGE_SETTING = "--set ood.local."
"""The prefix of a challenge set's settings on the command line."""


def assemble(
    name: str,
    columns: Sequence[str],
    splits: Mapping[str, Sequence[LabelledRow]],
    *,
    source: str = "",
    declared: Sequence[str] = (),
    subsets: Sequence[str] = (),
    positive_label: str | None = None,
    measures: Sequence[str] = (),
    train_rows: int | None = None,
    train_share: float | None = None,
    challenge: bool = False,
    dropped: Mapping[str, int] | None = None,
    notices: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> TaskData:
    """Make a task from the existing splits of a data set (:func:`~ticketlab.tasks.reading.splits.make_splits`), and sample its train split.

    Examples with equal texts (:func:`~ticketlab.tasks.reading.text_equality.group_equal_texts`) stay on one side of every split made here,
    and repeated texts are counted. ``source`` is the name of the data in messages, by default ``name``. A ``challenge`` set may have a
    single class, and classes that occur in one split only. ``notices`` and ``warnings`` come from reading the rows.

    ``positive_label`` is the label whose F1 is ``binary_f1``. Tables show ``measures`` in addition to the accuracy.

    :raises DataError: a split has no examples; there is a single class; a label is not declared or not in train; labels are not classes
        (:func:`~ticketlab.tasks.assembly.classes.check_labels`); the positive label is not one of two labels; ``train_share`` is set for a
        data set with a training split or with several splits.
    """
    source = source or name
    equal = group_equal_texts({row.id: tuple(map(canonical_text, row.texts)) for rows in splits.values() for row in rows})
    arranged = arrange(source, splits, equal, train_share=train_share, challenge=challenge, dropped=dropped or {})
    known = [row for rows in arranged.splits.values() for row in rows] if challenge else arranged.known
    if not declared:
        classes.check_labels(source, Counter(row.label for row in known), f"{CHALLENGE_SETTING}labels" if challenge else "--labels")
    try:
        names = labels.resolve_label_names(source, (row.label for row in known), declared, trains=arranged.trains, challenge=challenge)
        trained = {row.label for row in known}
        examples = {
            split: tuple(
                Example(row.id, row.texts, labels.label_index(source, split, row.label, trained, names), row.subsets) for row in rows
            )
            for split, rows in arranged.splits.items()
        }
    except DataError as problem:
        raise DataError(f"{problem}{arranged.explanation}") from None
    labels.check_positive_label(source, positive_label, names)
    data = TaskData(
        name=name,
        columns=tuple(columns),
        label_names=names,
        splits=examples,
        dropped=dict(dropped or {}),
        subsets=tuple(subsets),
        positive_label=positive_label,
        measures=tuple(measures),
        notices=tuple(notices),
        warnings=tuple(warnings),
    )
    label_warnings = () if declared else tuple(classes.label_warnings(Counter(row.label for row in known)))
    return complete(data, equal, train_rows=train_rows, challenge=challenge, label_warnings=label_warnings)
