"""Matches the labels of a model with those of a task, by name and never by position."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import counted


def labels_of_outputs(model_names: Sequence[str], task_names: Sequence[str], pairs: Sequence[str] = ()) -> list[str]:
    """Return the task's label for each output of the model.

    The task may have labels that the model does not have. ``pairs`` are those of :func:`match_labels`.

    :raises UsageError: the names do not match.
    """
    mapped = {pair.rpartition("=")[2] for pair in pairs} | {name.casefold() for name in model_names}
    known = [name for name in task_names if name in mapped or name.casefold() in mapped]
    task_has_more = len(known) == len(model_names) < len(task_names)
    chosen = known if task_has_more else task_names
    order = match_labels(model_names, chosen, pairs)
    return [chosen[order.index(output)] for output in range(len(order))]


def match_labels(
    model_names: Sequence[str], task_names: Sequence[str], pairs: Sequence[str] = (), *, flag: str = "--label-map"
) -> list[int]:
    """Return the index of the model's output for each label of the task.

    ``pairs`` are ``"model name=task name"``. Labels without a pair must have the same name, ignoring case unless names differ in case only.
    ``flag`` is the name of the pairs' setting in messages.

    :raises UsageError: the names do not match one to one; the message lists both sides.
    """
    renamed = {name: name for name in model_names}
    for pair in pairs:
        left, equals, right = pair.rpartition("=")
        if not equals:
            raise UsageError(f"{flag} {pair}: write MODEL_LABEL=TASK_LABEL")
        if left not in renamed:
            raise UsageError(f"{flag} {pair}: the model has no label `{left}`{did_you_mean(left, model_names)}")
        if right not in task_names:
            raise UsageError(f"{flag} {pair}: the task has no label `{right}`{did_you_mean(right, task_names)}")
        if renamed[left] not in (left, right):
            raise UsageError(f"{flag} {pair}: `{left}` is already mapped to `{renamed[left]}`")
        renamed[left] = right
    fold = str.casefold if len({name.casefold() for name in task_names}) == len(task_names) else str
    places: dict[str, int] = {}
    for index, name in enumerate(model_names):
        folded = fold(renamed[name])
        if folded in places:
            other = model_names[places[folded]]
            raise UsageError(
                f"{flag}: two labels of the model stand for `{renamed[name]}`: {_origin(other, renamed[other])} and "
                f"{_origin(name, renamed[name])}; map each to a label of its own"
            )
        places[folded] = index
    missing = [name for name in task_names if fold(name) not in places]
    if len(model_names) != len(task_names):
        known = {fold(name) for name in renamed.values()}
        advice = "evaluate it on a task with its own labels (--task), and use this one as a challenge set (`ticketlab evaluate --ood`)"
        if all(fold(name) in known for name in task_names):
            flags = " ".join(f"--labels {shlex.quote(renamed[name])}" for name in model_names)
            advice = f"if the task has only some of the labels, declare all of them: {flags}"
        raise UsageError(
            f"the model has {counted(len(model_names), 'label')} ({', '.join(model_names)}) and the task {len(task_names)} "
            f"({', '.join(task_names)}): {advice}"
        )
    if missing:
        raise UsageError(
            f"the model's labels are {', '.join(model_names)} and the task's {', '.join(task_names)}; "
            f"map them with {flag} {shlex.quote(model_names[0])}=NAME, once per label"
        )
    return [places[fold(name)] for name in task_names]


def _origin(name: str, task_name: str) -> str:
    """Describe why a label of the model stands for one of the task."""
    return f"`{name}` (mapped)" if name != task_name else f"`{name}` (its own name)"
