"""Attacks the examples of one process; every example gets a record, whatever happens.

An example's time limit is enforced by the scheduler that :meth:`Attacker.run` starts, with :mod:`ticketlab.attacks.engine.deadline`.
"""

from __future__ import annotations

import contextlib
import gc
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components import goal_function
from ticketlab.attacks.components.words import words_of
from ticketlab.attacks.engine.candidate_coverage import CandidateCoverage, unseen_words
from ticketlab.attacks.engine.deadline import ReportedDeadline
from ticketlab.attacks.engine.failure import Failure, fault_of
from ticketlab.attacks.results.record import Record, Status
from ticketlab.attacks.results.record_file import message_of
from ticketlab.backbone.device import threads
from ticketlab.core import debugging, disk_and_memory
from ticketlab.core.formatting import counted
from ticketlab.inference import random_state
from ticketlab.inference.victim import Victim
from ticketlab.resources.resources import Resources
from ticketlab.tasks.base import Example


@frozen
class Attacker:
    """Everything needed to attack an example, except the example."""

    attack: Attack
    victim: Victim
    resources: Resources
    columns: tuple[str, ...]
    label_names: tuple[str, ...]
    seed: int
    timeout: float | None
    in_flight: int
    _said: set[str] = field(factory=set, eq=False)
    """The messages of errors whose traceback has been printed."""

    def run(self, examples: Iterable[Example], deadline: ReportedDeadline | None = None) -> Iterator[Record | Failure]:
        """Yield the record or failure of each example, in the order in which they finish.

        In a worker process, ``deadline`` reports the time limit of the running example to the parent process.
        """
        from ticketlab.attacks.engine.scheduler import Scheduler

        scheduler = Scheduler(
            self.attack_one, in_flight=self.in_flight, timeout=self.timeout, on_timeout=self.timeout_record, deadline=deadline
        )
        with self.victim.evaluating(), _one_thread(self.victim), _old_objects_uncollected():
            yield from scheduler.run(examples)

    def attack_one(self, example: Example) -> Record | Failure:
        """Attack one example and return its record, with status ``error`` if an error was raised, unless the attack is at fault."""
        facts, unseen = self._facts(example)
        try:
            if facts["label"] not in self.victim.label_names:
                raise ValueError(self._unknown_label(example))
            random_state.seed_all(random_state.example_seed(self.seed, example.id))
            built = self.attack.build(self.victim, self.resources)
            goal_function.read_as_logits(built)
            text, coverage = attackable(example, self.columns), CandidateCoverage(unseen)
            with coverage.watching(built, text):
                result = built.attack(text, self.victim.label_names.index(facts["label"]))
            outcome = record_of(result, self.victim)
            unknown = outcome["status"] == "skipped" or (self._given_up(outcome) and not coverage.tried)
            counts = {} if unknown else coverage.counts()
            return Record(**{**facts, **self._with_message({**outcome, **counts})})
        except Exception as problem:
            if disk_and_memory.kind(problem):  # not the fault of this example; the others would fail too
                raise
            message = message_of(problem)
            if message not in self._said:
                self._said.add(message)
                debugging.print_traceback(problem)
            if fault := fault_of(self.attack, problem):
                return Failure(example.id, fault)
            return Record(**facts, status="error", message=message)

    def _with_message(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add a message to a failed attack that was given up or had no candidates."""
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

    def timeout_record(self, example: Example) -> Record:
        """Return the record of an example that exceeded its time limit."""
        return Record(**self._facts(example)[0], status="timeout", message=f"given up after {self.timeout:g} seconds")

    def crash_record(self, example: Example, how: str) -> Record:
        """Return the record of an example whose worker process died; ``how`` is its signal or exit code."""
        return Record(**self._facts(example)[0], status="error", message=f"the worker process died: {how}")

    def _unknown_label(self, example: Example) -> str:
        """Return the error message for a label that the victim does not have."""
        if 0 <= example.label < len(self.label_names):
            known = ", ".join(self.victim.label_names)
            return f"the model does not know the label `{self.label_names[example.label]}`; its labels are {known}"
        return f"label {example.label} is outside the {len(self.label_names)} label names"

    def _facts(self, example: Example) -> tuple[dict[str, Any], frozenset[int]]:
        """Return the fields of a record that are known before the attack, and the words that the victim does not see."""
        label = self.label_names[example.label] if 0 <= example.label < len(self.label_names) else str(example.label)
        facts: dict[str, Any] = {"id": example.id, "original": example.texts, "label": label}
        unseen: frozenset[int] = frozenset()
        with contextlib.suppress(Exception):  # a text that cannot be processed becomes an error when it is attacked
            facts["words_total"] = sum(len(words_of(text)) for text in example.texts)
            facts["truncated"] = self.victim.truncates(example.texts)
            seen = self.victim.seen(example.texts) if facts["truncated"] else None
            unseen = unseen_words(example.texts, seen) if seen else frozenset()
            facts["words_unseen"] = len(unseen) if seen or not facts["truncated"] else None
        return facts, unseen


def _one_thread(victim: Victim) -> contextlib.AbstractContextManager[None]:
    """Use one thread on the CPU: the bits of matrix products depend on the number of threads, and processes use the cores better."""
    return threads(1) if victim.device.type == "cpu" else contextlib.nullcontext()


@contextlib.contextmanager
def _old_objects_uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking over the libraries and resources: about a million objects, which takes half a second."""
    if gc.get_freeze_count():  # the caller has decided
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def attackable(example: Example, columns: Sequence[str]) -> Any:
    """Return an example as textattack's ``AttackedText``.

    :raises ValueError: the numbers of texts and columns differ, or a text contains textattack's column separator.
    """
    from textattack.shared import AttackedText

    from ticketlab.attacks.components.attacked_text import attacked_text

    if len(example.texts) != len(columns):
        raise ValueError(f"{len(example.texts)} texts for the columns {', '.join(columns)}")
    if any(AttackedText.SPLIT_TOKEN in text for text in example.texts):
        raise ValueError(f"the text contains {AttackedText.SPLIT_TOKEN}, which textattack uses to separate columns")
    return attacked_text(dict(zip(columns, example.texts, strict=True)))


def record_of(result: Any, victim: Victim) -> Mapping[str, Any]:
    """Return a textattack result as fields of a record."""
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
