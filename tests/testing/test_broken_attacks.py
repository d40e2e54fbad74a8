"""Attacks with a mistake fail in the conformance test that is about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import evolve, frozen
from support.small_recipe import needs_textattack
from support.suite_outcomes import failures_of

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.plugin import Attack, Resources, Victim, resource_setting
from ticketlab.testing import AttackTests

pytestmark = needs_textattack
SEEN: list[str] = []
"""What broken attacks remember from one example to the next."""


def attacking(act: Any, base: type[Attack] = DeepWordBug, **facts: Any) -> type[Attack]:
    """Return an attack that calls ``act(self, victim, built, text)`` before each text; what it returns is attacked instead."""

    def build(self: Any, victim: Victim, resources: Resources) -> Any:
        built = base.build(self, victim, resources)
        original = built.attack
        built.attack = lambda text, label: original(act(self, victim, built, text) or text, label)
        return built

    return frozen(type("Broken", (base,), {"__module__": __name__, "name": "broken", "build": build, **facts}))


def change_weights(self: Any, victim: Victim, built: Any, text: Any) -> None:
    with torch.no_grad():
        next(victim.model.parameters()).add_(1e-6)


def draw_from_the_system(self: Any, victim: Victim, built: Any, text: Any) -> Any:
    from textattack.shared import AttackedText

    return AttackedText(f"{text.text} {os.urandom(4).hex()}")


def remember(self: Any, victim: Victim, built: Any, text: Any) -> Any:
    from textattack.shared import AttackedText

    SEEN.append(text.text)
    return AttackedText(f"{text.text} {len(SEEN)}")


def ignore_the_budget(self: Any, victim: Victim, built: Any, text: Any) -> None:
    built.goal_function.query_budget = float("inf")


def misjudge(self: Any, victim: Victim, built: Any, text: Any) -> None:
    goal = built.goal_function
    goal.model = lambda texts: victim(texts).flip(1) if goal.num_queries > 1 else victim(texts)


def query_directly(self: Any, victim: Victim, built: Any, text: Any) -> None:
    victim([text.text])


def fail(self: Any, victim: Victim, built: Any, text: Any) -> None:
    if "emoji" in text.text or not text.text.isascii():
        raise ValueError("not ASCII")


@frozen
class UndeclaredVectors(TextFooler):
    """Reads word vectors, and accepts any place for them."""

    word_vectors: str | None = resource_setting("word_vectors")

    def prepare(self) -> Resources:
        return self.resources()


BROKEN = [
    pytest.param(attacking(draw_from_the_system), "test_records_are_the_same_every_time", "attacked again", id="unseeded"),
    pytest.param(attacking(remember), "test_a_record_depends_on_its_example_alone", "attacked alone", id="remembers"),
    pytest.param(attacking(change_weights), "test_the_victim_stays_as_it_is", "of the attacked model", id="changes the model"),
    pytest.param(
        attacking(lambda self, victim, *_: victim.model.train() and None),
        "test_the_victim_stays_as_it_is",
        "",
        id="the engine restores the mode",
    ),
    pytest.param(attacking(ignore_the_budget), "test_the_query_budget_is_kept", "with query_budget=4", id="budget"),
    pytest.param(attacking(query_directly), "test_every_query_is_counted", "query it through `self.goal(victim)` alone", id="uncounted"),
    pytest.param(attacking(misjudge), "test_a_record_says_what_the_victim_predicts", "use `self.goal(victim)`", id="another goal"),
    pytest.param(attacking(fail), "test_odd_texts_have_an_outcome", "not ASCII", id="raises"),
    pytest.param(UndeclaredVectors, "test_missing_resources_are_refused_before_anything_runs", "`prepare` accepts it", id="resources"),
]


@pytest.mark.parametrize(("component", "test", "message"), BROKEN)
def test_a_mistake_fails_in_the_test_about_it(component: type[Attack], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(AttackTests, test, tmp_path, component=component)
    assert bool(failures) is bool(message)
    assert all(message in text for text in failures.values()), failures


def test_an_attack_without_candidates_for_the_texts_is_reported(tmp_path: Path) -> None:
    failures = failures_of(AttackTests, "test_texts_are_changed", tmp_path, component=DeepWordBug, texts=("1", "2"))
    assert "changes none of the texts" in "".join(failures.values())


def test_the_tiny_victim_is_fooled(tmp_path: Path) -> None:
    """Otherwise the tests of successes would test nothing."""
    from ticketlab.testing.attack_suite import tiny_victim
    from ticketlab.testing.trials.workspace import workspace_in

    place, suite = workspace_in(tmp_path), AttackTests()
    victim = tiny_victim(place.model())
    records = suite._records(evolve(DeepWordBug()), victim, place)
    assert {"success", "skipped"} <= {record.status for record in records}
    assert {record.label for record in records} == {"negative", "positive"}
