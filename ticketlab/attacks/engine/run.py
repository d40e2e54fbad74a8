"""Drives an attack over examples, many at once: each gets a record, whatever happens to it."""

from __future__ import annotations

import collections
import hashlib
import os
from collections.abc import Iterator, Sequence

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine.attacker import Attacker
from ticketlab.attacks.engine.deadline import check as check_deadline
from ticketlab.attacks.engine.workers import run_in_workers
from ticketlab.attacks.results.records import Record, RecordFile
from ticketlab.core import progress
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.inference import random_state
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example

IN_FLIGHT = 64
_WORTH_A_PROCESS = 8
_PER_CORE = 4


def run_attack(
    attack: Attack,
    victim: Victim,
    examples: Sequence[Example],
    *,
    columns: Sequence[str],
    label_names: Sequence[str],
    records: RecordFile,
    seed: int,
    timeout: float | None = None,
    resources: Resources | None = None,
    in_flight: int = IN_FLIGHT,
    workers: int | None = 1,
) -> list[Record]:
    """Attack every example that ``records`` does not hold yet; return the records of all, in the order of ``examples``.

    ``label_names`` are what the examples' labels index; they are matched to the victim's by name. A record depends on the attack, the
    victim, the example and ``seed``: not on the other examples, on how many are ``in_flight`` in one process, or on the number of
    ``workers`` (processes; None: as many as pay). An exception makes a record of status ``error``. An example on which ``timeout`` seconds
    were spent is given up with status ``timeout``; that record depends on the machine.

    :raises ResourceError: something the attack needs is missing.
    :raises UsageError: the victim does not know a label and has others, two examples have one id, or a timeout is asked for outside the
        main thread.
    """
    _check(examples, label_names, victim)
    check_deadline(timeout)
    import_textattack()
    resources = resources or attack.prepare()
    _try_out(attack, victim, resources)
    left = [example for example in examples if example.id not in records]
    attack.warm(resources, [text for example in left for text in example.texts])
    siege = Attacker(attack, victim, resources, tuple(columns), tuple(label_names), seed, timeout, in_flight)
    title, done = f"attack {attack.label}", len(examples) - len(left)
    with progress.bar(title, len(examples), done=done, count=lambda: victim.rows_everywhere, of="texts asked") as bar:
        successes = sum(record.status == "success" for record in records)
        for record in _records(siege, left, _processes(victim, len(left), workers)):
            records.add(record)
            successes += record.status == "success"
            bar.advance(note=f"{successes} fooled")
    return [records[example.id] for example in examples]


def _records(siege: Attacker, left: Sequence[Example], workers: int) -> Iterator[Record]:
    if workers <= 1:
        return siege.run(left)
    return run_in_workers(siege, left, workers)


def _processes(victim: Victim, examples: int, workers: int | None) -> int:
    """Return a number of processes: as many as wanted or worth it, one an example at most, and on a processor a few a core.

    Each has memory of its own, and more than one a core are no faster.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    on_processor = victim.device.type == "cpu"
    if workers is None:
        return max(1, min(cores, examples // _WORTH_A_PROCESS)) if on_processor else 1
    number = max(1, min(workers, examples, _PER_CORE * cores if on_processor else workers))
    if number < workers and examples:
        some = counted(number, "process is", "processes are")
        progress.say(f"{some} started, not {workers}: there are {counted(examples, 'example')} and {counted(cores, 'core')}")
    return number


def _try_out(attack: Attack, victim: Victim, resources: Resources) -> None:
    """Load what the attack loads, so that a broken resource is one error before the run and not one for each example."""
    with random_state.preserved():
        try:
            attack.build(victim, resources)
        except TicketlabError:
            raise
        except Exception:
            return  # what is wrong with it goes into the records


def _check(examples: Sequence[Example], label_names: Sequence[str], victim: Victim) -> None:
    unknown = [name for name in label_names if name not in victim.label_names]
    if unknown and not set(victim.label_names) <= set(label_names):
        raise UsageError(f"the victim's labels are {', '.join(victim.label_names)}: it does not know {', '.join(unknown)}")
    repeated = [example_id for example_id, number in collections.Counter(example.id for example in examples).items() if number > 1]
    if repeated:
        ids = counted(len(repeated), "example id is", "example ids are")
        raise UsageError(f"{ids} there more than once, the first is {repeated[0]}")


def sample(examples: Sequence[Example], n: int | None, seed: int) -> list[Example]:
    """Pick ``n`` examples, each label in its proportion, by a hash of seed and id, in the hash's order; all of them when ``n`` is None."""
    ordered = sorted(examples, key=lambda example: hashlib.sha256(f"{seed}/{example.id}".encode()).digest())
    if n is None or n >= len(ordered):
        return ordered
    by_label: dict[int, list[Example]] = {}
    for example in ordered:
        by_label.setdefault(example.label, []).append(example)
    exact = {label: n * len(group) / len(ordered) for label, group in by_label.items()}
    quota = {label: int(share) for label, share in exact.items()}
    for label in sorted(exact, key=lambda label: (quota[label] - exact[label], label))[: n - sum(quota.values())]:
        quota[label] += 1
    chosen = {example.id for label, group in by_label.items() for example in group[: quota[label]]}
    return [example for example in ordered if example.id in chosen]
