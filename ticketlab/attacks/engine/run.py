"""Runs an attack on many examples, in one process or several; every example gets a record, whatever happens."""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Iterator, Sequence

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine import deadline
from ticketlab.attacks.engine.attacker import Attacker
from ticketlab.attacks.engine.executor import SharedVictim, run_on_executor
from ticketlab.attacks.engine.failure import Failure, check_no_failures, fault_of
from ticketlab.attacks.engine.workers import attack_examples, run_in_workers
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core import platforms, progress
from ticketlab.core.errors import PluginError, TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.inference import random_state
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example
from ticketlab.tasks.reading.splits import proportional_quotas

IN_FLIGHT = 64
_EXAMPLES_PER_PROCESS = 8
"""A process is worth starting for this many examples."""
_MAX_PROCESSES_PER_CORE = 4


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
    shared: SharedVictim | None = None,
) -> list[Record]:
    """Attack every example that ``records`` does not hold yet; return the records of all, in the order of ``examples``.

    The examples' labels are indices into ``label_names``, which are matched to the victim's by name. A record depends on the attack, the
    victim, the example and ``seed``, but not on the other examples, the number ``in_flight`` in a process, the number of ``workers``
    (processes; None: as many as are useful), or the executor whose workers attack the examples instead (``shared``). An exception becomes
    a record with status ``error``, unless the attack itself is broken (:func:`~ticketlab.attacks.engine.failure.fault_of`). An example
    that takes more than ``timeout`` seconds is given up with status ``timeout``; that record depends on the machine.

    :raises PluginError: the attack is broken. The examples on which it failed have no records.
    :raises ResourceError: something that the attack needs is missing.
    :raises TicketlabError: a worker failed outside of an example.
    :raises UsageError: the victim lacks a label and has others instead, two examples have the same id, or a timeout is not above 0.
    """
    _check(examples, label_names, victim)
    deadline.check(timeout)
    import_textattack()
    resources = resources or attack.prepare()
    _check_build(attack, victim, resources)
    left = [example for example in examples if example.id not in records]
    attacker = Attacker(attack, victim, resources, tuple(columns), tuple(label_names), seed, timeout, in_flight)
    title, done = f"attack {attack.label}", len(examples) - len(left)
    with progress.bar(title, len(examples), done=done, count=lambda: victim.rows_everywhere, of="texts evaluated") as bar:
        successes = sum(record.status == "success" for record in records)
        failures: list[Failure] = []
        for record in _outcomes(attacker, left, workers, shared):
            if isinstance(record, Failure):
                failures.append(record)
                bar.advance(note=f"{len(failures)} failed")
                continue
            records.add(record)
            successes += record.status == "success"
            bar.advance(note=f"{successes} fooled")
    check_no_failures(failures, len(examples))
    return [records[example.id] for example in examples]


def _outcomes(
    attacker: Attacker, examples: Sequence[Example], workers: int | None, shared: SharedVictim | None
) -> Iterator[Record | Failure]:
    if shared is not None:
        return run_on_executor(attacker, examples, shared)
    attacker.attack.warm(attacker.resources, [text for example in examples for text in example.texts])
    processes = _processes(attacker.victim, len(examples), workers)
    return attack_examples(attacker, examples) if processes <= 1 else run_in_workers(attacker, examples, processes)


def _processes(victim: Victim, examples: int, workers: int | None) -> int:
    """Return the number of processes: as requested or as useful, at most one per example and, on the CPU, a few per core.

    Each has its own memory, and more than one per core are no faster.
    """
    cores = platforms.cores()
    on_cpu = victim.device.type == "cpu"
    if workers is None:
        return max(1, min(cores, examples // _EXAMPLES_PER_PROCESS)) if on_cpu else 1
    number = max(1, min(workers, examples, _MAX_PROCESSES_PER_CORE * cores if on_cpu else workers))
    if number < workers and examples:
        some = counted(number, "process is", "processes are")
        progress.say(f"{some} started, not {workers}: there are {counted(examples, 'example')} and {counted(cores, 'core')}")
    return number


def _check_build(attack: Attack, victim: Victim, resources: Resources) -> None:
    """Build the attack once, so that a broken resource is one error before the run instead of one for each example."""
    with random_state.preserved():
        try:
            built = attack.build(victim, resources)
        except TicketlabError:
            raise
        except Exception as problem:
            if fault := fault_of(attack, problem):
                raise PluginError(fault) from problem
            return  # reported in the records
    if not callable(getattr(built, "attack", None)):
        raise PluginError(f"the attack `{attack.name}` built {type(built).__name__}; `build` must return a textattack.Attack")


def _check(examples: Sequence[Example], label_names: Sequence[str], victim: Victim) -> None:
    unknown = [name for name in label_names if name not in victim.label_names]
    if unknown and not set(victim.label_names) <= set(label_names):
        raise UsageError(
            f"the victim's labels are {', '.join(victim.label_names)}: it does not know {', '.join(unknown)}; "
            "match the names with --label-map"
        )
    repeated = [example_id for example_id, number in collections.Counter(example.id for example in examples).items() if number > 1]
    if repeated:
        ids = counted(len(repeated), "example id is", "example ids are")
        raise UsageError(f"{ids} repeated, the first is {repeated[0]}; give each example its own")


def sample(examples: Sequence[Example], n: int | None, seed: int) -> list[Example]:
    """Draw ``n`` examples stratified by label, ordered by a hash of seed and id; all of them if ``n`` is None."""
    ordered = sorted(examples, key=lambda example: hashlib.sha256(f"{seed}/{example.id}".encode()).digest())
    if n is None or n >= len(ordered):
        return ordered
    by_label: dict[int, list[Example]] = {}
    for example in ordered:
        by_label.setdefault(example.label, []).append(example)
    quota = proportional_quotas({label: len(by_label[label]) for label in sorted(by_label)}, n)
    chosen = {example.id for label, group in by_label.items() for example in group[: quota[label]]}
    return [example for example in ordered if example.id in chosen]
