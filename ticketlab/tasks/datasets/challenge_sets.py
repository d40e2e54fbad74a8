"""Challenge sets: maps their labels to those of a task, by name, and mixes their examples into its training split."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import evolve

from ticketlab.core.errors import DataError, UsageError, did_you_mean
from ticketlab.tasks.assembly.fingerprint import fingerprint_of
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.scoring import LabelMapping

FLAG = "--ood-map"
_NEGATION = re.compile(r"no[nt][-_](?P<name>.+)", re.DOTALL)


def map_labels(source: str, task_names: Sequence[str], ood_names: Sequence[str], pairs: Sequence[str] = ()) -> LabelMapping:
    """Return the indices of the task's labels that map to each label of a challenge set. ``source`` is the name of the set in messages.

    Labels are mapped in this order. First by ``pairs``, ``"TASK_LABEL=OOD_LABEL"``; a pair whose right side is not a label of this set is
    ignored. Then by equal names, ignoring case unless names differ in case only. Then, if a label without a match negates another label of
    the set (``non-entailment``, ``not_paraphrase``), all remaining labels of the task map to it. A label of the task may map to nothing.

    :raises UsageError: no label of the task maps to some label of the set; the left side of a pair is not a label of the task; a label of
        the task is paired with two labels of the set.
    """
    mapped: dict[str, str] = {}
    for pair in pairs:
        labels = _pair_for_set(pair, task_names, ood_names)
        if labels is None:
            continue
        left, right = labels
        if mapped.setdefault(left, right) != right:
            raise UsageError(f"{FLAG} {pair}: `{left}` is already mapped to `{mapped[left]}` of {source}")
    fold = str.casefold if all(len({name.casefold() for name in names}) == len(names) for names in (task_names, ood_names)) else str
    known = {fold(name): name for name in ood_names}
    for name in task_names:
        if name not in mapped and fold(name) in known:
            mapped[name] = known[fold(name)]
    for negation in _negations(ood_names, set(mapped.values())):
        mapped |= {name: negation for name in task_names if name not in mapped}
    mapping = tuple(tuple(index for index, name in enumerate(task_names) if mapped.get(name) == label) for label in ood_names)
    unmapped = [name for name, indices in zip(ood_names, mapping, strict=True) if not indices]
    if unmapped:
        raise UsageError(
            f"{source}: no label of the task maps to {_quoted(unmapped)}: the task's labels are {_quoted(task_names)} and those of the set "
            f"{_quoted(ood_names)}; map them with {FLAG} TASK_LABEL=OOD_LABEL, once per label"
        )
    return mapping


def unused_pairs(pairs: Sequence[str], label_names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the pairs whose right side is not a label of any challenge set; ``label_names`` has the names for each set."""
    known = {name for names in label_names for name in names}
    return tuple(pair for pair in pairs if not any(right in known for _, right in _readings(pair)))


def check_pairs(pairs: Sequence[str], sets: Sequence[TaskData]) -> None:
    """Check that every pair applies to one of the challenge sets.

    :raises UsageError: a pair does not.
    """
    for pair in unused_pairs(pairs, [data.label_names for data in sets]):
        right = _readings(pair)[-1][1] if _readings(pair) else ""
        if not right:
            raise UsageError(f"{FLAG} {pair}: write TASK_LABEL=OOD_LABEL")
        if not sets:
            raise UsageError(f"{FLAG} {pair}: there is no challenge set; name one with --ood")
        near = did_you_mean(right, {name for data in sets for name in data.label_names})
        raise UsageError(f"{FLAG} {pair}: no challenge set ({', '.join(data.name for data in sets)}) has a label `{right}`{near}")


def check_columns(data: TaskData, other: TaskData) -> None:
    """Check that a challenge set has as many text columns as the task.

    :raises DataError: the numbers differ.
    """
    if len(other.columns) != len(data.columns):
        raise DataError(
            f"{other.name}: its text columns are {_quoted(other.columns)}, but those of {data.name} are {_quoted(data.columns)}"
        )


def check_mixable(sets: Sequence[TaskData]) -> None:
    """Check that there are examples to mix in.

    :raises DataError: no set has training examples.
    """
    if not any(other.splits["train"] for other in sets):
        names = ", ".join(other.name for other in sets) or "none is given with --ood"
        raise DataError(
            f"no challenge set has a training split to mix in ({names}); set train_share to use a share of one for training "
            "(for a file or folder: --set ood.local.train_share=0.5)"
        )


def mix(data: TaskData, sets: Sequence[TaskData], pairs: Sequence[str] = (), copies: int = 1) -> TaskData:
    """Return the task with ``copies`` of the sets' training examples appended to its own; their ids are ``SET/ID``, then ``SET/ID#2``.

    An example gets the task's label that maps to its label, or, if several do, a label that stands for them
    (:attr:`TaskData.label_sets`). A set without training examples adds nothing.

    :raises DataError: no set has training examples; a set has a different number of text columns; an id occurs twice.
    :raises UsageError: the labels cannot be mapped; see :func:`map_labels`.
    """
    label_sets = list(data.label_sets)
    added: list[Example] = []
    check_mixable(sets)
    for other in sets:
        check_columns(data, other)
        labels = []
        for classes in map_labels(other.name, data.label_names, other.label_names, pairs):
            if len(classes) > 1 and classes not in label_sets:
                label_sets.append(classes)
            labels.append(classes[0] if len(classes) == 1 else len(data.label_names) + label_sets.index(classes))
        for copy in range(1, copies + 1):
            suffix = f"#{copy}" if copy > 1 else ""
            added += [
                Example(f"{other.name}/{example.id}{suffix}", example.texts, labels[example.label], ("",) * len(data.subsets))
                for example in other.splits["train"]
            ]
    _check_unique(data, added)
    mixed = evolve(data, splits={**data.splits, "train": (*data.splits["train"], *added)}, label_sets=tuple(label_sets))
    return evolve(mixed, fingerprint=fingerprint_of(mixed))


def _pair_for_set(pair: str, task_names: Sequence[str], ood_names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two labels of a pair; None if it does not apply to a set with these labels."""
    readings = _readings(pair)
    if not readings:
        raise UsageError(f"{FLAG} {pair}: write TASK_LABEL=OOD_LABEL")
    applicable = [(left, right) for left, right in readings if right in ood_names]
    for left, right in applicable:
        if left in task_names:
            return left, right
    if applicable:
        raise UsageError(f"{FLAG} {pair}: the task has no label `{applicable[-1][0]}`{did_you_mean(applicable[-1][0], task_names)}")
    return None


def _readings(pair: str) -> list[tuple[str, str]]:
    """Return all ways to split a pair at an equals sign, since names may contain equals signs."""
    return [(pair[: sign.start()], pair[sign.end() :]) for sign in re.finditer("=", pair)]


def _negations(names: Sequence[str], mapped: set[str]) -> list[str]:
    """Return the labels that are not mapped and whose names negate a label that is."""
    known = {name.casefold() for name in mapped}
    matches = [(name, _NEGATION.fullmatch(name.casefold())) for name in names if name not in mapped]
    return [name for name, match in matches if match and match["name"] in known]


def _check_unique(data: TaskData, added: Sequence[Example]) -> None:
    seen = {example.id for examples in data.splits.values() for example in examples}
    for example in added:
        if example.id in seen:
            raise DataError(f"{data.name}: the id `{example.id}` occurs twice; give the folders of the challenge sets different names")
        seen.add(example.id)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
