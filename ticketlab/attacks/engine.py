"""Drives an attack over examples, one after the other: each gets a record, whatever happens to it."""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from ticketlab import progress
from ticketlab.attacks.base import Attack
from ticketlab.attacks.deadline import OutOfTime, deadline
from ticketlab.attacks.deadline import check as check_deadline
from ticketlab.attacks.randomness import preserved, seed_of, seeded
from ticketlab.attacks.records import Record, RecordFile, Status
from ticketlab.attacks.resources import Resources
from ticketlab.attacks.shim import import_textattack
from ticketlab.attacks.victim import Victim
from ticketlab.errors import TicketlabError, UsageError
from ticketlab.tasks.base import Example


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
) -> list[Record]:
    """Attack every example that ``records`` does not hold yet; return the records of all, in the order of ``examples``.

    ``label_names`` are what the examples' labels index; they are matched to the victim's by name. A record depends on the attack, the
    victim, the example and ``seed``, not on the other examples. An exception makes a record of status ``error``; after ``timeout`` seconds
    an example is given up with status ``timeout``.

    :raises ResourceError: something the attack needs is missing.
    :raises UsageError: the victim does not know a label, two examples have one id, or a timeout is asked for outside the main thread.
    """
    _check(examples, label_names, victim)
    check_deadline(timeout)
    import_textattack()
    resources = resources or attack.prepare()
    _try_out(attack, victim, resources)
    left = [example for example in examples if example.id not in records]
    successes = sum(record.status == "success" for record in records)
    with victim.evaluating(), progress.bar(f"attack {attack.name}", len(examples), done=len(examples) - len(left)) as bar:
        for example in left:
            record = attack_one(attack, victim, resources, example, columns, label_names, seed, timeout)
            records.add(record)
            successes += record.status == "success"
            bar.advance(note=f"{successes} led astray")
    return [records[example.id] for example in examples]


def attack_one(
    attack: Attack,
    victim: Victim,
    resources: Resources,
    example: Example,
    columns: Sequence[str],
    label_names: Sequence[str],
    seed: int,
    timeout: float | None = None,
) -> Record:
    """Attack one example; return its record, of status ``error`` if anything but an interruption went wrong."""
    named = label_names[example.label] if 0 <= example.label < len(label_names) else str(example.label)
    facts: dict[str, Any] = {"id": example.id, "original": example.texts, "label": named}
    try:
        if named not in victim.label_names:
            raise ValueError(f"label {example.label} is outside the {len(label_names)} label names")
        facts["truncated"] = victim.truncates(example.texts)
        with seeded(seed_of(seed, example.id)), deadline(timeout):
            built = attack.build(victim, resources)
            result = built.attack(attackable(example, columns), victim.label_names.index(named))
        return Record(**facts, **outcome(result, victim))
    except OutOfTime:
        return Record(**facts, status="timeout", message=f"given up after {timeout:g} seconds")
    except Exception as problem:
        message = " ".join(f"{type(problem).__name__}: {problem}".split())
        return Record(**facts, status="error", message=message[:500])


def _try_out(attack: Attack, victim: Victim, resources: Resources) -> None:
    """Load what the attack loads, so that a broken resource is one error before the run and not one for each example."""
    with preserved():
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

    if len(example.texts) != len(columns):
        raise ValueError(f"{len(example.texts)} texts for the columns {', '.join(columns)}")
    if any(AttackedText.SPLIT_TOKEN in text for text in example.texts):
        raise ValueError(f"the text holds {AttackedText.SPLIT_TOKEN}, which textattack separates columns with")
    return AttackedText(collections.OrderedDict(zip(columns, example.texts, strict=True)))


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
        raise UsageError(f"{len(repeated)} example ids are there more than once, the first is {repeated[0]}")


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
