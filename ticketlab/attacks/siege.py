"""Attacks examples in one process: each gets a record, whatever happens to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen

from ticketlab.attacks import randomness
from ticketlab.attacks.base import Attack
from ticketlab.attacks.records import Record, Status, message_of
from ticketlab.attacks.resources import Resources
from ticketlab.attacks.victim import Victim
from ticketlab.tasks.base import Example


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
                raise ValueError(self._stranger(example))
            randomness.start(randomness.seed_of(self.seed, example.id))
            built = self.attack.build(self.victim, self.resources)
            result = built.attack(attackable(example, self.columns), self.victim.label_names.index(facts["label"]))
            return Record(**facts, **self._in_budget(outcome(result, self.victim)))
        except Exception as problem:
            return Record(**facts, status="error", message=message_of(problem))

    def _in_budget(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say of what held that its attack was given up, if it was."""
        budget = self.attack.query_budget
        given_up = budget is not None and facts["status"] == "failed" and facts["queries"] >= budget
        return {**facts, "message": f"given up after {budget} queries"} if given_up else facts

    def late(self, example: Example) -> Record:
        """Return the record of an example that took too long."""
        return Record(**self._facts(example), status="timeout", message=f"given up after {self.timeout:g} seconds")

    def lost(self, example: Example, how: str) -> Record:
        """Return the record of an example during which its process ended."""
        return Record(**self._facts(example), status="error", message=f"the process that attacked it ended: {how}")

    def _stranger(self, example: Example) -> str:
        """Return what is wrong with a label that the victim does not have."""
        if 0 <= example.label < len(self.label_names):
            known = ", ".join(self.victim.label_names)
            return f"the model does not know the label `{self.label_names[example.label]}`; its labels are {known}"
        return f"label {example.label} is outside the {len(self.label_names)} label names"

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
