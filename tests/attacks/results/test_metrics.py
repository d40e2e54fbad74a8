from __future__ import annotations

import importlib.util
import json
import math
import random
from itertools import zip_longest

import pytest
from attrs import evolve

from ticketlab.attacks.results.metrics import Proportion, SampleMean, measure
from ticketlab.attacks.results.record import Record


def records(*rows):
    for number, (status, queries, changed, total) in enumerate(rows):
        words = {"words_changed": changed, "words_total": total}
        yield Record(id=str(number), status=status, original=["x"], perturbed=["y"], label="a", queries=queries, **words)


MIXED = (
    ("success", 10, 1, 4),
    ("success", 20, 3, 4),
    ("failed", 30, 5, 8),
    ("skipped", 1, 0, 3),
    ("skipped", 1, 0, 3),
    ("error", 0, 0, 0),
    ("timeout", 0, 0, 0),
)


def near(*cosines):
    """Return the records of ``MIXED`` with these similarities."""
    return [evolve(row, similarity=cosine) for row, cosine in zip_longest(records(*MIXED), cosines)]


def test_metrics_equal_textattacks():
    found = measure(records(*MIXED))
    assert (found.n, found.successes, found.failures, found.skipped, found.errors, found.timeouts) == (5, 2, 1, 2, 1, 1)
    assert found.clean == Proportion(3, 5)
    assert found.aua == Proportion(1, 5)
    assert found.suc == Proportion(2, 3)
    assert (found.queries.sum, found.queries.n, found.queries.value) == (60, 3, 20.0)
    assert (found.words_changed.sum, found.words_changed.n, found.words_changed.value) == (1.0, 2, 0.5)


@pytest.mark.parametrize(
    ("rows", "clean", "aua", "suc", "queries", "changed"),
    [
        pytest.param([], None, None, None, None, None, id="nothing"),
        pytest.param([("error", 0, 0, 0)], None, None, None, None, None, id="all errors"),
        pytest.param([("skipped", 1, 0, 2)], 0.0, 0.0, None, None, None, id="all skipped"),
        pytest.param([("failed", 7, 0, 2)], 1.0, 1.0, 0.0, 7.0, None, id="all held"),
        pytest.param([("success", 4, 0, 0)], 1.0, 0.0, 1.0, 4.0, None, id="success on no words"),
        pytest.param([("success", 4, 0, 5)], 1.0, 0.0, 1.0, 4.0, None, id="success in which no word differs"),
    ],
)
def test_means_over_no_examples_are_none(rows, clean, aua, suc, queries, changed):
    found = measure(records(*rows))
    values = [one.value for one in (found.clean, found.aua, found.suc, found.queries, found.words_changed)]
    assert values == [clean, aua, suc, queries, changed]
    assert found.similarity.value is None
    json.dumps(found.to_table(), allow_nan=False)


def test_a_proportion_has_an_interval_and_is_none_over_no_examples():
    assert Proportion(81, 263).interval == pytest.approx((0.255289, 0.366210), abs=1e-5)
    assert (Proportion(0, 0).value, Proportion(0, 0).interval) == (None, None)


def test_a_mean_has_an_interval():
    """Of 1, 2, 3, 4: mean 2.5, deviation sqrt(5 / 3), t of 3 degrees of freedom 3.182446 (tables)."""
    found = SampleMean.of([1, 2, 3, 4])
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert (found.value, found.n) == (2.5, 4)
    assert found.interval == pytest.approx((2.5 - half, 2.5 + half), abs=1e-5)
    assert (SampleMean.of([]).value, SampleMean.of([]).interval) == (None, None)
    assert (SampleMean.of([7]).value, SampleMean.of([7]).interval) == (7.0, None)
    assert SampleMean.of([7, 7]).interval == (7.0, 7.0)


def test_the_interval_of_a_mean_holds_it_in_95_of_100_samples():
    generator = random.Random(1)
    held = 0
    for _ in range(2000):
        low, high = SampleMean.of([generator.gauss(10, 3) for _ in range(5)]).interval
        held += low < 10 < high
    assert held / 2000 == pytest.approx(0.95, abs=0.015)  # three deviations of such a share


def test_intervals_are_clipped_to_the_range_of_values():
    assert SampleMean.of([0.9, 1.0], -1, 1).interval == (pytest.approx(0.95 - 12.706205 * 0.05, abs=1e-5), 1)
    assert SampleMean.of([0.1, 0.9], 0, 1).interval == (0, 1)
    assert SampleMean.of([1, 60], 0).interval == (0, pytest.approx(30.5 + 12.706205 * 29.5, abs=1e-3))


@pytest.mark.parametrize(
    ("queries", "budget", "ends"),
    [
        pytest.param((1, 60), None, (1, 30.5 + 12.706205 * 29.5), id="every attacked example was queried once"),
        pytest.param((1, 60), 60, (1, 60), id="within the budget"),
        pytest.param((0, 60), None, (0, 30 + 12.706205 * 30), id="an attack that does not count the first query"),
        pytest.param((5, 70), 60, (1, 70), id="an attack that exceeds the budget"),
    ],
)
def test_the_interval_of_queries_is_clipped_to_the_possible_range(queries, budget, ends):
    found = measure(records(*(("failed", number, 0, 3) for number in queries), ("skipped", 1, 0, 3)), query_budget=budget)
    assert found.queries.interval == pytest.approx(ends, abs=1e-3)


def test_the_table_contains_numerators_denominators_and_intervals():
    table = measure(near(0.5, 0.9)).to_table()
    assert table["aua"] == 0.2
    assert (table["aua_of"]["count"], table["aua_of"]["total"]) == (1, 5)
    assert table["clean_of"]["interval"] == pytest.approx([0.230724, 0.882379], abs=1e-5)
    assert (table["queries"], table["queries_of"]["sum"], table["queries_of"]["n"], table["queries_of"]["deviation"]) == (20, 60, 3, 10)
    assert table["queries_of"]["interval"] == pytest.approx([1, 20 + 4.302653 * 10 / 3**0.5], abs=1e-4)
    assert table["words_changed_of"]["n"] == 2
    assert table["similarity"] == pytest.approx(0.7)
    assert table["similarity_of"]["n"] == 2


def test_the_table_contains_plain_numbers():
    def kinds(value):
        if isinstance(value, (dict, list)):
            return {kind for item in (value.values() if isinstance(value, dict) else value) for kind in kinds(item)}
        return {type(value)}

    assert kinds(measure(near(0.5, 0.9)).to_table()) <= {int, float, type(None)}


needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")


@pytest.fixture(scope="module")
def results(make_model, tokenizer):
    """Results of textattack, each with our record of it: attacks of real examples, and two in which no word differs."""
    import torch

    from ticketlab.attacks.deepwordbug import DeepWordBug
    from ticketlab.attacks.engine import attacker
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources
    from ticketlab.resources.textattack_import import import_textattack

    import_textattack()
    from textattack.attack_results import SuccessfulAttackResult
    from textattack.goal_function_results import ClassificationGoalFunctionResult, GoalFunctionResultStatus
    from textattack.shared import AttackedText

    victim = Victim(make_model(), tokenizer, ["negative", "positive"], max_length=64)

    def attacked():
        words = ["the film was great", "a dull plot", "good", "!!! ???", "not very bad, not very good", "a fine tune", "awful cast"]
        for attack in (DeepWordBug(), DeepWordBug(max_edit_distance=1, query_budget=5)):
            for text in words:
                for label in (0, 1):
                    random.seed(0)
                    yield attack.build(victim, Resources()).attack(AttackedText(text), label)

    def fooled(before, after):
        def of(text, output, status):
            scores = torch.tensor([0.9, 0.1] if output == 0 else [0.2, 0.8])
            return ClassificationGoalFunctionResult(AttackedText(text), scores, output, status, 0.5, 9, 0)

        return SuccessfulAttackResult(of(before, 0, GoalFunctionResultStatus.SEARCHING), of(after, 1, GoalFunctionResultStatus.SUCCEEDED))

    found = [*attacked(), fooled("good film!", "good film?"), fooled("!!!", "???")]
    made = []
    for number, result in enumerate(found):
        outcome = attacker.record_of(result, victim)
        made.append((result, Record(id=str(number), original=[result.original_result.attacked_text.text], label="a", **outcome)))
    return made


@pytest.fixture(scope="module")
def theirs(results):
    from textattack.metrics import AttackQueries, AttackSuccessRate, WordsPerturbed

    found = {}
    for metric in (AttackSuccessRate, AttackQueries, WordsPerturbed):
        found |= metric().calculate([result for result, _ in results])
    return found


@needs_textattack
def test_every_kind_of_result_is_compared(results):
    assert {record.status for _, record in results} == {"success", "failed", "skipped"}
    assert any(record.status == "success" and not record.words_changed and record.words_total for _, record in results)
    assert any(record.status == "success" and not record.words_total for _, record in results)


@needs_textattack
def test_counts_and_fractions_equal_those_of_textattacks_metrics(results, theirs):
    ours = measure(record for _, record in results)
    assert ours.successes == theirs["successful_attacks"]
    assert ours.failures == theirs["failed_attacks"]
    assert ours.skipped == theirs["skipped_attacks"]
    for share, name in ((ours.clean, "original_accuracy"), (ours.aua, "attack_accuracy_perc"), (ours.suc, "attack_success_rate")):
        assert 100 * share.value == pytest.approx(theirs[name], abs=0.0051)  # it rounds to two digits


@needs_textattack
def test_means_equal_those_of_textattacks_metrics(results, theirs):
    ours = measure(record for _, record in results)
    assert ours.queries.value == pytest.approx(theirs["avg_num_queries"], abs=0.0051)
    assert 100 * ours.words_changed.value == pytest.approx(theirs["avg_word_perturbed_perc"], abs=0.0051)
