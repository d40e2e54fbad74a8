"""Challenge sets: what their labels mean to a task, by name, and their examples mixed into its training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import evolve

from ticketlab.core.errors import DataError, UsageError, did_you_mean
from ticketlab.tasks.assembly.assemble import fingerprint
from ticketlab.tasks.base import Example, Task, TaskData
from ticketlab.tasks.scoring import Meaning as Meaning
from ticketlab.tasks.scoring import judge as judge

FLAG = "--ood-map"
_NEGATION = re.compile(r"no[nt][-_](?P<name>.+)", re.DOTALL)


def load(task: Task) -> TaskData:
    """Read a data set as a challenge set; see :meth:`Task.load_challenge`."""
    return task.load_challenge()


def meaning(source: str, task_names: Sequence[str], ood_names: Sequence[str], pairs: Sequence[str] = ()) -> Meaning:
    """Return, for each label of a challenge set, the indices of the task's labels that mean it. ``source`` is what to call the set.

    First go ``pairs``, ``"TASK_LABEL=OOD_LABEL"``; a pair whose right side is no label of this set does not concern it. Then names that
    agree, upper and lower case aside where that leaves them distinct. Then a label that denies another label of the set by its name
    (``non-entailment``, ``not_paraphrase``), and means nothing yet, is meant by all labels of the task that mean no other. A label of the
    task may mean nothing.

    :raises UsageError: a label of the set that no label of the task means; a pair that names no label of the task; a label of the task
        paired with two of the set.
    """
    taken: dict[str, str] = {}
    for pair in pairs:
        concerned = _concerned(pair, task_names, ood_names)
        if concerned is None:
            continue
        left, right = concerned
        if taken.setdefault(left, right) != right:
            raise UsageError(f"{FLAG} {pair}: `{left}` is mapped to `{taken[left]}` of {source} already")
    fold = str.casefold if all(len({name.casefold() for name in names}) == len(names) for names in (task_names, ood_names)) else str
    known = {fold(name): name for name in ood_names}
    for name in task_names:
        if name not in taken and fold(name) in known:
            taken[name] = known[fold(name)]
    for denial in _denials(ood_names, set(taken.values())):
        taken |= {name: denial for name in task_names if name not in taken}
    means = tuple(tuple(index for index, name in enumerate(task_names) if taken.get(name) == label) for label in ood_names)
    without = [name for name, indices in zip(ood_names, means, strict=True) if not indices]
    if without:
        raise UsageError(
            f"{source}: no label of the task means {_quoted(without)}: the task's labels are {_quoted(task_names)} and those of the set "
            f"{_quoted(ood_names)}; say which is which with {FLAG} TASK_LABEL=OOD_LABEL, once for each"
        )
    return means


def unused_pairs(pairs: Sequence[str], label_names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the pairs whose right side is a label of none of the challenge sets, each of which is given by its label names."""
    known = {name for names in label_names for name in names}
    return tuple(pair for pair in pairs if not any(right in known for _, right in _readings(pair)))


def check_pairs(pairs: Sequence[str], sets: Sequence[TaskData]) -> None:
    """Refuse a pair that concerns none of the challenge sets.

    :raises UsageError: there is one.
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
    """Refuse a challenge set of another number of texts than the task has.

    :raises DataError: it has another.
    """
    if len(other.columns) != len(data.columns):
        raise DataError(f"{other.name}: examples are {_quoted(other.columns)} and those of {data.name} are {_quoted(data.columns)}")


def check_mixable(sets: Sequence[TaskData]) -> None:
    """Refuse to mix in where there is nothing.

    :raises DataError: no set has training examples.
    """
    if not any(other.splits["train"] for other in sets):
        names = ", ".join(other.name for other in sets) or "none is named (--ood)"
        raise DataError(
            f"no challenge set has a training split to mix in ({names}); set train_share to have a part of one for training "
            "(of a file or folder: --set ood.local.train_share=0.5)"
        )


def mix(data: TaskData, sets: Sequence[TaskData], pairs: Sequence[str] = (), copies: int = 1) -> TaskData:
    """Return the task with the training examples of the sets after its own, ``copies`` times; an id is ``SET/ID``, then ``SET/ID#2``.

    The label of an example is the task's label that means its own, or, where several do, stands for them (:attr:`TaskData.label_sets`).

    A set without training examples adds nothing.

    :raises DataError: no set has any; a set has another number of texts; an id is taken.
    :raises UsageError: the labels don't fit; see :func:`meaning`.
    """
    label_sets = list(data.label_sets)
    added: list[Example] = []
    check_mixable(sets)
    for other in sets:
        check_columns(data, other)
        labels = []
        for classes in meaning(other.name, data.label_names, other.label_names, pairs):
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
    splits = {**data.splits, "train": (*data.splits["train"], *added)}
    hashed = fingerprint(data.columns, data.label_names, splits, data.subsets, label_sets, data.positive_label)
    return evolve(data, splits=splits, label_sets=tuple(label_sets), fingerprint=hashed)


def _concerned(pair: str, task_names: Sequence[str], ood_names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two labels of a pair, or nothing if it does not concern a set with these labels."""
    readings = _readings(pair)
    if not readings:
        raise UsageError(f"{FLAG} {pair}: write TASK_LABEL=OOD_LABEL")
    here = [(left, right) for left, right in readings if right in ood_names]
    for left, right in here:
        if left in task_names:
            return left, right
    if here:
        raise UsageError(f"{FLAG} {pair}: the task has no label `{here[-1][0]}`{did_you_mean(here[-1][0], task_names)}")
    return None


def _readings(pair: str) -> list[tuple[str, str]]:
    """Return the pairs of names that a text may mean; a name may have an equals sign in it."""
    return [(pair[: sign.start()], pair[sign.end() :]) for sign in re.finditer("=", pair)]


def _denials(names: Sequence[str], meant: set[str]) -> list[str]:
    """Return the labels that deny, by their name, one that has a meaning, and have none themselves."""
    known = {name.casefold() for name in meant}
    found = [(name, _NEGATION.fullmatch(name.casefold())) for name in names if name not in meant]
    return [name for name, match in found if match and match["name"] in known]


def _check_unique(data: TaskData, added: Sequence[Example]) -> None:
    seen = {example.id for examples in data.splits.values() for example in examples}
    for example in added:
        if example.id in seen:
            raise DataError(f"{data.name}: the id `{example.id}` is taken; call the folders of challenge sets by different names")
        seen.add(example.id)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
