"""Attacks examples in one process: each gets a record, whatever happens to it."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components import goal_function
from ticketlab.attacks.components.words import words_of
from ticketlab.attacks.engine.coverage import Coverage, unseen_words
from ticketlab.attacks.results.records import Record, Status, message_of
from ticketlab.core import disk_and_memory
from ticketlab.core.formatting import counted
from ticketlab.inference import random_state
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.tasks.base import Example


@frozen
class Attacker:
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
        from ticketlab.attacks.engine.scheduler import Scheduler

        flights = Scheduler(self.attack_one, in_flight=self.in_flight, timeout=self.timeout, late=self.late)
        with self.victim.evaluating(), _one_thread(self.victim):
            yield from flights.run(examples)

    def attack_one(self, example: Example) -> Record:
        """Attack one example; return its record, of status ``error`` if anything but an interruption went wrong."""
        facts, unseen = self._facts(example)
        try:
            if facts["label"] not in self.victim.label_names:
                raise ValueError(self._stranger(example))
            random_state.seed_all(random_state.example_seed(self.seed, example.id))
            built = self.attack.build(self.victim, self.resources)
            goal_function.read_as_logits(built)
            text, coverage = attackable(example, self.columns), Coverage(unseen)
            with coverage.watching(built, text):
                result = built.attack(text, self.victim.label_names.index(facts["label"]))
            found = record_of(result, self.victim)
            unknown = found["status"] == "skipped" or (self._given_up(found) and not coverage.tried)
            counts = {} if unknown else coverage.counts()
            return Record(**{**facts, **self._remarked({**found, **counts})})
        except Exception as problem:
            if disk_and_memory.kind(problem):  # it says nothing about the example, and others would meet it too
                raise
            return Record(**facts, status="error", message=message_of(problem))

    def _remarked(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say of an attack without success that it was given up, or that there was nothing it could do."""
        if facts["status"] != "failed":
            return facts
        budget = self.attack.query_budget
        if budget is not None and self._given_up(facts):
            return {**facts, "message": f"given up after {counted(budget, 'query', 'queries')}"}
        if facts.get("words_replaceable") == 0 and not facts["message"]:
            return {**facts, "message": "no candidate for any word"}
        return facts

    def _given_up(self, facts: Mapping[str, Any]) -> bool:
        budget = self.attack.query_budget
        return budget is not None and facts["status"] == "failed" and facts["queries"] >= budget

    def late(self, example: Example) -> Record:
        """Return the record of an example that took too long."""
        return Record(**self._facts(example)[0], status="timeout", message=f"given up after {self.timeout:g} seconds")

    def lost(self, example: Example, how: str) -> Record:
        """Return the record of an example during which its process ended."""
        return Record(**self._facts(example)[0], status="error", message=f"the process that attacked it ended: {how}")

    def _stranger(self, example: Example) -> str:
        """Return what is wrong with a label that the victim does not have."""
        if 0 <= example.label < len(self.label_names):
            known = ", ".join(self.victim.label_names)
            return f"the model does not know the label `{self.label_names[example.label]}`; its labels are {known}"
        return f"label {example.label} is outside the {len(self.label_names)} label names"

    def _facts(self, example: Example) -> tuple[dict[str, Any], frozenset[int]]:
        """Return what a record says of an example before it is attacked, and the words of it that the victim does not see."""
        named = self.label_names[example.label] if 0 <= example.label < len(self.label_names) else str(example.label)
        facts: dict[str, Any] = {"id": example.id, "original": example.texts, "label": named}
        unseen: frozenset[int] = frozenset()
        with contextlib.suppress(Exception):  # a text that cannot be read is an error where it is attacked
            facts["words_total"] = sum(len(words_of(text)) for text in example.texts)
            facts["truncated"] = self.victim.truncates(example.texts)
            seen = self.victim.seen(example.texts) if facts["truncated"] else None
            unseen = unseen_words(example.texts, seen) if seen else frozenset()
            facts["words_unseen"] = len(unseen) if seen or not facts["truncated"] else None
        return facts, unseen


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

    from ticketlab.attacks.components.attacked_text import attacked_text

    if len(example.texts) != len(columns):
        raise ValueError(f"{len(example.texts)} texts for the columns {', '.join(columns)}")
    if any(AttackedText.SPLIT_TOKEN in text for text in example.texts):
        raise ValueError(f"the text holds {AttackedText.SPLIT_TOKEN}, which textattack separates columns with")
    return attacked_text(dict(zip(columns, example.texts, strict=True)))


def record_of(result: Any, victim: Victim) -> Mapping[str, Any]:
    """Return what a textattack result says, as fields of a record."""
    before, after = result.original_result, result.perturbed_result
    right = before.ground_truth_output
    words, changed = words_of(before.attacked_text.text), words_of(after.attacked_text.text)
    perturbed = after.attacked_text.tokenizer_input
    return {
        "status": _status(result),
        "perturbed": (perturbed,) if isinstance(perturbed, str) else perturbed,
        "predicted_before": victim.label_names[before.output],
        "predicted_after": victim.label_names[after.output],
        "confidence_before": float(before.raw_output[right]),
        "confidence_after": float(after.raw_output[right]),
        "queries": int(result.num_queries),
        "words_changed": sum(map(operator.ne, words, changed)),
        "words_total": len(words),
        "message": "" if words or _status(result) == "skipped" else "no words to change",
    }


def _status(result: Any) -> Status:
    from textattack import attack_results

    if isinstance(result, attack_results.SkippedAttackResult):
        return "skipped"
    return "failed" if isinstance(result, attack_results.FailedAttackResult) else "success"
