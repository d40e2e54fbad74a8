"""Matching the label names of a model with those of a task: by name, never by position."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.formatting import counted


def meanings(model_names: Sequence[str], task_names: Sequence[str], pairs: Sequence[str] = ()) -> list[str]:
    """Return for each of the model's outputs the task's label that it stands for.

    The task may have labels besides that the model does not know. ``pairs`` are as for :func:`match`.

    :raises UsageError: names do not agree.
    """
    meant = {pair.rpartition("=")[2] for pair in pairs} | {name.casefold() for name in model_names}
    known = [name for name in task_names if name in meant or name.casefold() in meant]
    some = len(known) == len(model_names) < len(task_names)
    chosen = known if some else task_names
    order = match(model_names, chosen, pairs)
    return [chosen[order.index(output)] for output in range(len(order))]


def match(model_names: Sequence[str], task_names: Sequence[str], pairs: Sequence[str] = (), *, flag: str = "--label-map") -> list[int]:
    """Return, for each of the task's labels, the index of the model's output for it.

    ``pairs`` are ``"model name=task name"``. Without them names must agree, upper and lower case aside where that leaves them distinct.

    ``flag`` is what messages call the setting of the pairs.

    :raises UsageError: names do not agree one to one; the message lists both sides.
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
            raise UsageError(f"{flag} {pair}: `{left}` is mapped to `{renamed[left]}` already")
        renamed[left] = right
    fold = str.casefold if len({name.casefold() for name in task_names}) == len(task_names) else str
    places: dict[str, int] = {}
    for index, name in enumerate(model_names):
        folded = fold(renamed[name])
        if folded in places:
            raise UsageError(f"{flag}: two labels of the model mean `{renamed[name]}`")
        places[folded] = index
    missing = [name for name in task_names if fold(name) not in places]
    if len(model_names) != len(task_names):
        known = {fold(name) for name in renamed.values()}
        advice = "evaluate it on a task with its own labels (--task), and on this one as a challenge set (`ticketlab evaluate --ood`)"
        if all(fold(name) in known for name in task_names):
            flags = " ".join(f"--labels {shlex.quote(renamed[name])}" for name in model_names)
            advice = f"if the task has only some of them, declare all: {flags}"
        raise UsageError(
            f"the model has {counted(len(model_names), 'label')} ({', '.join(model_names)}) and the task {len(task_names)} "
            f"({', '.join(task_names)}): {advice}"
        )
    if missing:
        raise UsageError(
            f"the model's labels are {', '.join(model_names)} and the task's {', '.join(task_names)}; "
            f"say which is which with {flag} {shlex.quote(model_names[0])}=NAME, once for each"
        )
    return [places[fold(name)] for name in task_names]
