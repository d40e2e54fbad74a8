"""Drives an attack over examples, many at once: each gets a record, whatever happens to it."""

from __future__ import annotations

import collections
import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen

from ticketlab import progress
from ticketlab.attacks import randomness
from ticketlab.attacks.base import Attack
from ticketlab.attacks.deadline import check as check_deadline
from ticketlab.attacks.records import Record, RecordFile, Status, message_of
from ticketlab.attacks.resources import Resources
from ticketlab.attacks.shim import import_textattack
from ticketlab.attacks.victim import Victim
from ticketlab.errors import TicketlabError, UsageError
from ticketlab.tasks.base import Example
from ticketlab.wording import counted

IN_FLIGHT = 64
_WORTH_A_PROCESS = 8


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
    :raises UsageError: the victim does not know a label, two examples have one id, or a timeout is asked for outside the main thread.
    """
    _check(examples, label_names, victim)
    check_deadline(timeout)
    import_textattack()
    resources = resources or attack.prepare()
    _try_out(attack, victim, resources)
    left = [example for example in examples if example.id not in records]
    attack.warm(resources, [text for example in left for text in example.texts])
    siege = Siege(attack, victim, resources, tuple(columns), tuple(label_names), seed, timeout, in_flight)
    title, done = f"attack {attack.label}", len(examples) - len(left)
    with progress.bar(title, len(examples), done=done, count=lambda: victim.rows_everywhere, of="texts asked") as bar:
        successes = sum(record.status == "success" for record in records)
        for record in _records(siege, left, workers or _worth_it(victim, len(left))):
            records.add(record)
            successes += record.status == "success"
            bar.advance(note=f"{successes} led astray")
    return [records[example.id] for example in examples]


def _records(siege: Siege, left: Sequence[Example], workers: int) -> Iterator[Record]:
    if min(workers, len(left)) <= 1:
        return siege.run(left)
    from ticketlab.attacks.workers import run_in_workers

    return run_in_workers(siege, left, workers)


def _worth_it(victim: Victim, examples: int) -> int:
    """Return a number of processes: one a core, while each has some examples to merge queries of; one where a GPU does the work."""
    if victim.device.type != "cpu":
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, examples // _WORTH_A_PROCESS))


@frozen
class Siege:
    """Everything that attacking an example takes, besides the example."""

    attack: Attack
    victim: Victim
    resources: Resources
    columns: tuple[str, ...]
    label_names: tuple[str, ...]
    seed: int
    timeout: float | None
    in_flight: int

    def run(self, examples: Iterable[Example]) -> Iterator[Record]:
        """Yield the record of each example, in the order in which they finish."""
        from ticketlab.attacks.flights import Flights

        flights = Flights(self.attack_one, in_flight=self.in_flight, timeout=self.timeout, late=self.late)
        with self.victim.evaluating(), _one_thread(self.victim):
            yield from flights.run(examples)

    def attack_one(self, example: Example) -> Record:
        """Attack one example; return its record, of status ``error`` if anything but an interruption went wrong."""
        facts = self._facts(example)
        try:
            if facts["label"] not in self.victim.label_names:
                raise ValueError(f"label {example.label} is outside the {len(self.label_names)} label names")
            randomness.start(randomness.seed_of(self.seed, example.id))
            built = self.attack.build(self.victim, self.resources)
            result = built.attack(attackable(example, self.columns), self.victim.label_names.index(facts["label"]))
            return Record(**facts, **outcome(result, self.victim))
        except Exception as problem:
            return Record(**facts, status="error", message=message_of(problem))

    def late(self, example: Example) -> Record:
        """Return the record of an example that took too long."""
        return Record(**self._facts(example), status="timeout", message=f"given up after {self.timeout:g} seconds")

    def lost(self, example: Example, how: str) -> Record:
        """Return the record of an example during which its process ended."""
        return Record(**self._facts(example), status="error", message=f"the process that attacked it ended: {how}")

    def _facts(self, example: Example) -> dict[str, Any]:
        named = self.label_names[example.label] if 0 <= example.label < len(self.label_names) else str(example.label)
        truncated = False
        with contextlib.suppress(Exception):  # a text that cannot be read is an error where it is attacked
            truncated = self.victim.truncates(example.texts)
        return {"id": example.id, "original": example.texts, "label": named, "truncated": truncated}


@contextlib.contextmanager
def _one_thread(victim: Victim) -> Iterator[None]:
    """Let a processor's matrix products run on one thread: their bits depend on the number, and processes use the cores better."""
    before = torch.get_num_threads()
    if victim.device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _try_out(attack: Attack, victim: Victim, resources: Resources) -> None:
    """Load what the attack loads, so that a broken resource is one error before the run and not one for each example."""
    with randomness.preserved():
        try:
            attack.build(victim, resources)
        except TicketlabError:
            raise
        except Exception:
            return  # what is wrong with it goes into the records


def attackable(example: Example, columns: Sequence[str]) -> Any:
    """Return an example as textattack takes it.

    :raises ValueError: its texts are not one per column, or textattack would take one apart.
    """
    from textattack.shared import AttackedText

    from ticketlab.attacks.attacked_text import attacked_text

    if len(example.texts) != len(columns):
        raise ValueError(f"{len(example.texts)} texts for the columns {', '.join(columns)}")
    if any(AttackedText.SPLIT_TOKEN in text for text in example.texts):
        raise ValueError(f"the text holds {AttackedText.SPLIT_TOKEN}, which textattack separates columns with")
    return attacked_text(dict(zip(columns, example.texts, strict=True)))


def outcome(result: Any, victim: Victim) -> Mapping[str, Any]:
    """Return what a textattack result says, as fields of a record."""
    before, after = result.original_result, result.perturbed_result
    right = before.ground_truth_output
    words = before.attacked_text.words
    perturbed = after.attacked_text.tokenizer_input
    return {
        "status": _status(result),
        "perturbed": (perturbed,) if isinstance(perturbed, str) else perturbed,
        "predicted_before": victim.label_names[before.output],
        "predicted_after": victim.label_names[after.output],
        "confidence_before": float(before.raw_output[right]),
        "confidence_after": float(after.raw_output[right]),
        "queries": int(result.num_queries),
        "words_changed": len(before.attacked_text.all_words_diff(after.attacked_text)),
        "words_total": len(words),
        "message": "" if words else "no words to change",
    }


def _status(result: Any) -> Status:
    from textattack import attack_results

    if isinstance(result, attack_results.SkippedAttackResult):
        return "skipped"
    return "failed" if isinstance(result, attack_results.FailedAttackResult) else "success"


def _check(examples: Sequence[Example], label_names: Sequence[str], victim: Victim) -> None:
    unknown = [name for name in label_names if name not in victim.label_names]
    if unknown:
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
