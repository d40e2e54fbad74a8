"""Verdicts on hypotheses, from cells whose examples have given outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from support.measured_cells import compared, measured_cell

from ticketlab.report.cells import Cell, Comparison
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.verdict_table import p_text, verdict_table
from ticketlab.report.verdicts import NOT_RUN, REFUTED, SHOWN, UNDECIDED, Verdict, verdicts
from ticketlab.statistics.paired import BOTH_TESTS, PairedDifference

HIGH, LOW = (80, 82, 81, 79, 83), (60, 63, 61, 60, 62)
"""Right examples of 100 with each of five seeds: differences of 20, 19, 20, 19 and 21."""
SAME = (61, 62, 60, 61, 62)
"""Differences to LOW of 1, -1, -1, 1 and 0."""
UNSTEADY = (90, 40, 80, 55, 75)
"""Differences to LOW of 30, -23, 19, -5 and 13."""
BETTER, WORSE = ("11111100", "11111010", "11111111"), ("00000110", "11110000", "10101010")
"""The macro F1 of these cells differ by 0.25, 0.125 and 0.25: t = 5 with two degrees of freedom, so p = 0.0377."""


def right(counts: Sequence[int], n: int = 100) -> list[str]:
    """Return the outcomes of n examples with each seed, of which the first ones are right."""
    return ["1" * count + "0" * (n - count) for count in counts]


def claim(text: str = "A is better.", **more: Any) -> Hypothesis:
    usual = {"of": {"method": "a"}, "than": {"method": "b"}, "metrics": ("clean.accuracy",), "expect": "higher"}
    return Hypothesis(claim=text, **{**usual, **more})


@pytest.mark.parametrize(
    ("of", "than", "words"),
    [
        ({"method": "a"}, {"method": "b"}, "a against b"),
        ({"adversary": "freelb"}, {"adversary": "none"}, "freelb against adversary=none"),
        ({"epochs": "2"}, {"epochs": "1"}, "epochs=2 against epochs=1"),
    ],
)
def test_a_level_that_says_nothing_alone_is_shown_with_its_factor(of: dict[str, str], than: dict[str, str], words: str) -> None:
    assert claim(of=of, than=than).comparison == f"{words}: clean.accuracy higher"


def numbers_of(verdict: Verdict) -> PairedDifference:
    """Return the numbers of the only task of a verdict."""
    (task,) = verdict.tasks
    assert task.test.numbers is not None
    return task.test.numbers


def decided(hypotheses: Sequence[Hypothesis], *cells: Cell) -> tuple[Verdict, ...]:
    return verdicts(evolve(compared(*cells), hypotheses=tuple(hypotheses)))


def pair(lab: Path, first: Sequence[int], second: Sequence[int], **levels: str) -> list[Cell]:
    task = {"task": levels["task"]} if "task" in levels else {}
    return [measured_cell(lab, {"method": name, **levels}, clean=right(found), **task) for name, found in (("a", first), ("b", second))]


@pytest.mark.parametrize(
    ("counts", "more", "decision", "reason"),
    [
        pytest.param(HIGH, {}, SHOWN, "", id="higher"),
        pytest.param(HIGH, {"relevant": 0.5}, SHOWN, "but the interval excludes a relevant difference, 50", id="higher, too little"),
        pytest.param(HIGH, {"expect": "lower"}, REFUTED, "significantly higher", id="other direction"),
        pytest.param(SAME, {"relevant": 0.15}, REFUTED, "the 95 % interval excludes a relevant difference, 15.0 or more", id="no effect"),
        pytest.param(UNSTEADY, {"relevant": 0.05}, UNDECIDED, "5 seeds show a difference of at least 3", id="unsteady"),
        pytest.param(UNSTEADY, {}, UNDECIDED, "5 seeds show a difference of at least 3", id="nothing relevant"),
        pytest.param(HIGH, {"expect": "not higher", "margin": 0.05}, REFUTED, "significantly higher by more than 5.0", id="inferior"),
        pytest.param(SAME, {"expect": "not lower", "margin": 0.15}, SHOWN, "", id="not inferior"),
        pytest.param(SAME, {"expect": "not lower", "margin": 0.01}, UNDECIDED, "5 seeds show a margin of at least", id="narrow margin"),
        pytest.param(HIGH[:1], {}, UNDECIDED, "one seed decides nothing", id="one seed"),
    ],
)
def test_each_verdict(tmp_path: Path, counts: Sequence[int], more: dict[str, Any], decision: str, reason: str) -> None:
    (found,) = decided([claim(**more)], *pair(tmp_path, counts, LOW[: len(counts)]))
    assert (found.decision, found.tasks[0].decision) == (decision, decision)
    assert found.tasks[0].reason.startswith(reason)
    assert bool(reason) == bool(found.tasks[0].reason)


def test_the_p_value_is_the_larger_of_two_tests_and_the_interval_has_both(tmp_path: Path) -> None:
    (found,) = decided([claim()], *pair(tmp_path, HIGH, LOW))
    test = numbers_of(found)
    assert (test.test, test.seeds, test.examples, test.second) == (BOTH_TESTS, (0, 1, 2, 3, 4), 100, pytest.approx(0.612))
    assert (test.difference, test.deviation) == (pytest.approx(0.198), pytest.approx(0.0083666))
    assert test.p == pytest.approx(2 / 10_001)  # the least of the bootstrap; t = 0.198 / (0.0083666 / sqrt 5) = 52.9 gives 8e-7
    assert test.interval is not None
    assert test.interval[0] < 0.198 - 2.776445 * 0.0083666 / 5**0.5
    (unsteady,) = decided([claim()], *pair(tmp_path / "other", UNSTEADY, LOW))
    assert numbers_of(unsteady).p == pytest.approx(0.5078, abs=1e-4)  # t = 6.8 / (20.933 / sqrt 5) = 0.7264, 4 degrees of freedom
    assert numbers_of(unsteady).interval == pytest.approx(
        (0.068 - 2.776445 * 0.20933 / 5**0.5, 0.068 + 2.776445 * 0.20933 / 5**0.5), abs=1e-4
    )


def test_two_seeds_are_not_enough_for_the_bootstrap_alone(tmp_path: Path) -> None:
    (found,) = decided([claim()], *pair(tmp_path, (80, 70), (60, 60)))
    assert found.decision == UNDECIDED
    assert numbers_of(found).p == pytest.approx(0.2048, abs=1e-4)  # t = 3, 1 degree of freedom: 1 - 2 atan(3) / pi


def test_all_tests_are_corrected_together_with_those_that_were_not_made(tmp_path: Path) -> None:
    cells = [measured_cell(tmp_path, {"method": name}, clean=clean) for name, clean in (("a", BETTER), ("b", WORSE))]
    one, again = (claim(text, metrics=("clean.macro_f1",)) for text in ("one", "again"))
    (alone,) = decided([one], *cells)
    assert (alone.decision, alone.tasks[0].p_corrected) == (SHOWN, pytest.approx(0.0377, abs=1e-4))
    found = decided([one, again], *cells)
    assert [(each.decision, each.tests) for each in found] == [(UNDECIDED, 2), (UNDECIDED, 2)]
    assert found[0].tasks[0].p_corrected == pytest.approx(2 * 0.0377, abs=2e-4)
    absent = claim("absent", than={"method": "c"})
    with_absent = decided([one, absent], *cells, Cell("c", {"method": "c"}, tmp_path, None, error="out of memory"))
    assert [each.decision for each in with_absent] == [UNDECIDED, NOT_RUN]
    assert with_absent[1].tasks[0].reason == "c failed: out of memory"


@pytest.mark.parametrize(
    ("second", "decision", "of_task"),
    [
        pytest.param(HIGH, SHOWN, SHOWN, id="shown on both"),
        pytest.param(UNSTEADY, UNDECIDED, UNDECIDED, id="undecided on one"),
        pytest.param((30, 33, 31, 30, 35), REFUTED, REFUTED, id="refuted on one"),
        pytest.param(None, NOT_RUN, NOT_RUN, id="not run on one"),
    ],
)
def test_a_hypothesis_is_about_every_task(tmp_path: Path, second: Sequence[int] | None, decision: str, of_task: str) -> None:
    cells = [*pair(tmp_path, HIGH, LOW, task="sst2"), *pair(tmp_path, second or HIGH, LOW, task="mnli")]
    cells = [evolve(cell, results=None) if second is None and cell.label == "a, mnli" else cell for cell in cells]
    (found,) = decided([claim()], *cells)
    assert (found.decision, [(task.test.task, task.decision) for task in found.tasks]) == (decision, [("sst2", SHOWN), ("mnli", of_task)])
    assert found.tests == 2
    table = verdict_table([found])
    assert [row[2] for row in table.rows] == ["every task", "sst2", "mnli"]
    assert table.rows[0][-1] == decision


@pytest.mark.parametrize("finished", [0, 1, 4])
@pytest.mark.parametrize(("name", "key"), [("task", "task"), ("data", "task"), ("task+model", "task+model")])
def test_the_number_of_tests_does_not_depend_on_what_has_finished(tmp_path: Path, name: str, key: str, finished: int) -> None:
    cells = []
    for number, (task, sparsity) in enumerate((task, sparsity) for task in ("sst2", "mnli") for sparsity in ("0.1", "0.3")):
        for method, counts in (("a", HIGH), ("b", LOW)):
            levels = {"method": method, name: task if name == "task" else task.upper(), "sparsity": sparsity}
            cell = measured_cell(tmp_path, levels, clean=right(counts), task=task)
            cells.append(cell if number < finished else evolve(cell, results=None))
    comparison = compared(*cells)
    factors = tuple(evolve(factor, key=key) if factor.name == name else factor for factor in comparison.factors)
    (found,) = verdicts(evolve(comparison, factors=factors, hypotheses=(claim(),)))
    assert found.tests == 2


def test_several_metrics_and_levels_are_one_mean_by_example(tmp_path: Path) -> None:
    cells = [
        measured_cell(tmp_path, {"method": method, "sparsity": sparsity}, clean=["1110", "1110"], attack=attack)
        for method, sparsity, attack in (("a", "0.3", ["ffss", "fffs"]), ("a", "0.5", ["ffff", "ffff"]), ("b", "0.3", ["ssss", "ssss"]))
    ]
    (found,) = decided([claim(metrics=("clean.accuracy", "attack.pwws.aua"))], *cells)
    test = numbers_of(found)
    assert (test.first, test.second) == (pytest.approx((3 + 2 + 3 + 4 + 3 + 3 + 3 + 4) / 32), pytest.approx(3 / 8))
    assert (test.examples, test.test) == (4, BOTH_TESTS)
    assert test.difference == pytest.approx(13 / 32)


def test_metrics_of_other_examples_are_compared_by_seed(tmp_path: Path) -> None:
    cells = [measured_cell(tmp_path, {"method": name}, clean=clean, ood=clean) for name, clean in (("a", BETTER), ("b", WORSE))]
    (found,) = decided([claim(metrics=("clean.accuracy", "ood.hans.accuracy"))], *cells)
    assert (numbers_of(found).test, numbers_of(found).p) == ("paired t test", pytest.approx(0.0377, abs=1e-4))


@pytest.mark.parametrize("first", [HIGH, SAME, UNSTEADY])
def test_the_opposite_of_a_hypothesis_has_the_same_verdict(tmp_path: Path, first: Sequence[int]) -> None:
    one, other = decided(
        [claim("a"), claim("b", of={"method": "b"}, than={"method": "a"}, expect="lower")],
        *pair(tmp_path, first, LOW),
    )
    assert one.decision == other.decision
    assert numbers_of(one).difference == pytest.approx(-numbers_of(other).difference)
    assert one.tasks[0].p_corrected == pytest.approx(other.tasks[0].p_corrected)


def test_equal_measurements_and_lost_outcomes_are_undecided_with_the_reason(tmp_path: Path) -> None:
    cells = pair(tmp_path, HIGH, LOW)
    (same,) = decided([claim()], cells[0], evolve(cells[0], label="b", levels={"method": "b"}))
    assert (same.decision, same.tasks[0].reason) == (UNDECIDED, "both are the same measurement")
    (lost,) = decided([claim()], *(evolve(cell, folder=tmp_path / "elsewhere" / "runs" / cell.label) for cell in cells))
    assert lost.decision == UNDECIDED
    assert "are not in the lab" in lost.tasks[0].reason


def test_cells_that_are_one_measurement_do_not_make_the_mean_difference_smaller(tmp_path: Path) -> None:
    one = measured_cell(tmp_path, {"method": "a", "sparsity": "0.5"}, clean=right(SAME))
    other = evolve(one, label="b, 0.5", levels={"method": "b", "sparsity": "0.5"})
    (found,) = decided([claim()], *pair(tmp_path, HIGH, LOW, sparsity="0.3"), one, other)
    assert numbers_of(found).difference == pytest.approx(0.198)
    assert found.tasks[0].test.notes == ("1 pair of cells that is the same measurement is left out",)


def test_a_verdict_names_the_model_of_one_class_that_nothing_could_fool(tmp_path: Path) -> None:
    attacks = {"a": ["ffff", "fffs", "ffff"], "b": ["ssss", "sssf", "sssf"]}
    cells = [measured_cell(tmp_path, {"method": name}, clean=["1100"] * 3, attack=found) for name, found in attacks.items()]
    for stages in (cells[0].results or {})["tasks"]["sst2"].values():
        stages["evaluate"]["clean"] |= {"labels": {"yes": 2, "no": 2}, "predicted": {"yes": 4}}
    (found,) = decided([claim(metrics=("attack.pwws.aua",))], *cells)
    (note,) = found.tasks[0].test.notes
    assert note.startswith("the model of a predicts `yes` for every example with 3 of 3 seeds: nothing to fool, so its numbers")


def test_a_comparison_without_hypotheses_has_no_verdicts() -> None:
    assert verdicts(Comparison("x", (), ())) == ()


def test_examples_that_one_of_several_metrics_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    cells = [
        measured_cell(tmp_path, {"method": method}, clean=["1110000000", "1100000000"], attack=[statuses, statuses])
        for method, statuses in (("a", "ffss"), ("b", "ssss"))
    ]
    (found,) = decided([claim(metrics=("clean.accuracy", "attack.pwws.aua"))], *cells)
    assert (numbers_of(found).examples, numbers_of(found).left_out) == (4, 6)


@pytest.mark.parametrize(("p", "text"), [(0.0496, "0.0496"), (0.049996, "0.049996"), (0.05, "0.050"), (0.0004, "< 0.001")])
def test_a_p_value_has_the_digits_that_show_whether_it_is_below_the_level(p: float, text: str) -> None:
    assert p_text(p) == text


@pytest.mark.parametrize(("margin", "text"), [(0.0025, "by 0.25 or more"), (0.0004, "by 0.04 or more"), (0.01, "by 1.0 or more")])
def test_a_margin_has_all_its_digits(margin: float, text: str) -> None:
    assert claim(expect="not lower", margin=margin).comparison.endswith(text)
