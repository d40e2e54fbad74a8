from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from attrs import evolve
from support.measured_cells import compared, measured_cell

from ticketlab.core.errors import UsageError
from ticketlab.report.baseline_comparison import PairedComparison, compare_with_baseline
from ticketlab.report.cells import Comparison
from ticketlab.report.hypothesis import Hypothesis
from ticketlab.report.table_notes import significance
from ticketlab.report.verdicts import verdicts
from ticketlab.statistics.bootstrap import paired_bootstrap
from ticketlab.statistics.paired import BOTH_TESTS, MCNEMAR, SAME_DIFFERENCE, T_TEST, PairedDifference

BETTER = ("11111100", "11111010", "11111111")
WORSE = ("00000110", "11110000", "10101010")


def numbered(text: str) -> dict[str, int]:
    return {f"test-{number}": int(outcome) for number, outcome in enumerate(text)}


def better_and_worse(lab: Path) -> Comparison:
    """Return the cells `a` and `b` of BETTER and WORSE, which are equal under attack."""
    attack = {"attack": ["ffs"] * 3}
    cells = [measured_cell(lab, {"method": name}, clean=clean, **attack) for name, clean in (("a", BETTER), ("b", WORSE))]
    return compared(*cells, baseline="b")


def compare(lab: Path, metric: str = "clean.accuracy") -> PairedComparison:
    (found,) = compare_with_baseline(better_and_worse(lab), [metric])
    return found


def numbers_of(found: PairedComparison) -> PairedDifference:
    assert found.numbers is not None
    return found.numbers


def test_several_seeds_are_compared_by_the_bootstrap_and_the_t_test(tmp_path: Path) -> None:
    """The differences are 4/8, 2/8 and 4/8: their standard error is 1/12, t = 5 with two degrees of freedom, and p = 0.0377."""
    found = compare(tmp_path)
    bootstrap = paired_bootstrap([(numbered(one), numbered(other)) for one, other in zip(BETTER, WORSE, strict=True)])
    assert bootstrap is not None
    assert bootstrap.interval is not None
    numbers = numbers_of(found)
    assert (found.cell, found.baseline, numbers.test, numbers.seeds, found.unpaired) == ("a", "b", BOTH_TESTS, (0, 1, 2), ())
    assert numbers.difference == pytest.approx(10 / 24)
    assert numbers.p == pytest.approx(max(0.03775, bootstrap.p), abs=1e-5)
    low, high = 10 / 24 - 4.302653 / 12, 10 / 24 + 4.302653 / 12
    assert numbers.interval == pytest.approx((min(low, bootstrap.interval[0]), max(high, bootstrap.interval[1])), abs=1e-6)
    assert (numbers.first, numbers.second) == (pytest.approx(20 / 24), pytest.approx(10 / 24))
    assert (numbers.examples, numbers.left_out, found.notes) == (8, 0, ())


@pytest.mark.parametrize("metric", ["clean.accuracy", "clean.macro_f1", "attack.pwws.aua"])
def test_a_hypothesis_about_a_cell_and_its_baseline_has_the_same_numbers(tmp_path: Path, metric: str) -> None:
    comparison = better_and_worse(tmp_path)
    claim = Hypothesis(claim="A is better.", of={"method": "a"}, than={"method": "b"}, metrics=(metric,), expect="higher")
    (found,) = compare_with_baseline(comparison, [metric])
    (verdict,) = verdicts(evolve(comparison, hypotheses=(claim,)))
    test = verdict.tasks[0].test
    assert (test.numbers, test.reason) == (found.numbers, found.reason)


def test_one_seed_is_compared_by_mcnemars_test(tmp_path: Path) -> None:
    cells = [measured_cell(tmp_path, {"method": name}, clean=clean) for name, clean in (("a", BETTER[:1]), ("b", WORSE[:1]))]
    (found,) = compare_with_baseline(compared(*cells), ["clean.accuracy"], baseline="b")
    assert (numbers_of(found).test, numbers_of(found).p, numbers_of(found).seeds) == (MCNEMAR, pytest.approx(14 / 64), (0,))
    assert found.notes == ("one seed: the test is about these two trained models, not about others trained in the same way",)


def test_measures_without_outcomes_are_compared_by_the_t_test_over_seeds(tmp_path: Path) -> None:
    numbers = numbers_of(compare(tmp_path, "clean.macro_f1"))
    assert (numbers.test, numbers.examples) == (T_TEST, None)
    assert numbers.difference == pytest.approx((4 + 2 + 4) / 8 / 3 / 2)  # 6-2, 6-4 and 8-4 of 8 examples; half of the accuracy
    assert numbers.p == pytest.approx(0.0377, abs=1e-4)  # t = mean / (deviation / sqrt 3) = 3.3333 / 0.66667 = 5, two degrees of freedom


def test_a_difference_that_is_the_same_with_every_seed_has_no_test(tmp_path: Path) -> None:
    found = compare(tmp_path, "attack.pwws.aua")
    numbers = numbers_of(found)
    assert (numbers.difference, numbers.interval, numbers.p, found.reason) == (0, None, None, SAME_DIFFERENCE)


def test_equal_outcomes_of_one_seed_have_neither_interval_nor_effect(tmp_path: Path) -> None:
    cells = [measured_cell(tmp_path, {"method": name}, clean=["1101"]) for name in "ab"]
    (found,) = compare_with_baseline(compared(*cells, baseline="b"), ["clean.accuracy"])
    numbers = numbers_of(found)
    assert (numbers.difference, numbers.interval, numbers.p) == (0, None, 1)
    assert "no example has another outcome, so the spread of the difference is unknown" in found.notes


def test_only_common_seeds_and_examples_are_compared_and_counted(tmp_path: Path) -> None:
    cells = [
        measured_cell(tmp_path, {"method": "a"}, clean=["1100", "1010"], seeds=(1, 2)),
        measured_cell(tmp_path, {"method": "b"}, clean=["0000", "0001"], seeds=(2, 5), first=1),
    ]
    (found,) = compare_with_baseline(compared(*cells), ["clean.accuracy"], baseline="b")
    numbers = numbers_of(found)
    assert (numbers.seeds, found.unpaired, numbers.examples, numbers.left_out) == ((2,), (1, 5), 3, 2)
    assert (numbers.first, numbers.second) == (pytest.approx(1 / 3), 0)
    assert found.notes[1:] == (
        "seeds 1, 5 are left out: not all compared cells have them",
        "2 examples that not all compared cells have are left out",
    )


def test_a_measurement_that_does_not_depend_on_the_seed_is_one_seed(tmp_path: Path) -> None:
    cells = []
    for name, text in (("a", "1100"), ("b", "0000")):
        made = measured_cell(tmp_path, {"method": name}, clean=[text] * 3)
        assert made.results is not None
        stages = made.results["tasks"]["sst2"]["0"]
        cells.append(evolve(made, results={**made.results, "tasks": {"sst2": dict.fromkeys("012", stages)}}))
    (found,) = compare_with_baseline(compared(*cells), ["clean.accuracy"], baseline="b")
    assert (numbers_of(found).seeds, numbers_of(found).test) == ((0,), MCNEMAR)
    assert "seeds 1, 2 are left out: the measurements are those of another seed" in found.notes


def test_p_values_of_all_cells_and_metrics_are_corrected_together(tmp_path: Path) -> None:
    cells = [
        measured_cell(tmp_path, {"method": name}, clean=[clean], attack=[attack])
        for name, clean, attack in (("a", "111111", "ffffff"), ("b", "111100", "ffssss"), ("c", "000000", "ssssss"))
    ]
    found = compare_with_baseline(compared(*cells), ["clean.accuracy", "attack.pwws.aua"], baseline="c")
    assert [(one.metric[:5], one.cell, numbers_of(one).p, one.p_corrected) for one in found] == [
        ("clean", "a", pytest.approx(2 / 64), pytest.approx(8 / 64)),
        ("clean", "b", pytest.approx(2 / 16), pytest.approx(4 / 16)),
        ("attac", "a", pytest.approx(2 / 64), pytest.approx(8 / 64)),
        ("attac", "b", pytest.approx(2 / 4), pytest.approx(2 / 4)),
    ]


def test_comparisons_of_the_same_measurements_are_one_test(tmp_path: Path) -> None:
    texts = {"a": "111111", "b": "111100", "c": "000000"}
    first, other, baseline = (measured_cell(tmp_path, {"method": name}, clean=[text]) for name, text in texts.items())
    same = evolve(first, label="a again", levels={"method": "a again"})
    comparison = compared(first, same, other, baseline, baseline="c")
    found = compare_with_baseline(comparison, ["clean.accuracy"])
    assert [(one.same_as, one.p_corrected) for one in found] == [
        ("", pytest.approx(4 / 64)),
        ("a", pytest.approx(4 / 64)),
        ("", pytest.approx(2 / 16)),
    ]
    assert "Holm's correction for 2 tests" in significance(found, "c")


def test_without_the_files_there_is_a_difference_but_no_test(tmp_path: Path) -> None:
    cells = [measured_cell(tmp_path, {"method": name}, clean=clean) for name, clean in (("a", BETTER), ("b", WORSE))]
    shutil.rmtree(tmp_path / "stages")
    (found,) = compare_with_baseline(compared(*cells, baseline="b"), ["clean.accuracy"])
    numbers = numbers_of(found)
    assert (numbers.difference, numbers.test, numbers.p, found.p_corrected) == (pytest.approx(10 / 24), "", None, None)
    assert "are not in the lab" in found.reason


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        pytest.param({"task": "mrpc", "clean": ["1"]}, "b has no `clean.accuracy` of sst2", id="another task"),
        pytest.param({"clean": ["1"], "seeds": (7,)}, "the two have no seed in common", id="other seeds"),
        pytest.param({"clean": ["1"], "first": 9}, "the compared cells have no example in common", id="other examples"),
    ],
)
def test_cells_that_cannot_be_compared_say_why(tmp_path: Path, other: dict[str, object], reason: str) -> None:
    cells = [
        measured_cell(tmp_path, {"method": "a"}, clean=["11"]),
        measured_cell(tmp_path, {"method": "b"}, **other),  # type: ignore[arg-type]
    ]
    (found, *_) = compare_with_baseline(compared(*cells), ["clean.accuracy"], baseline="b")
    assert (found.numbers is None or found.numbers.p is None, found.p_corrected, found.reason) == (True, None, reason)


@pytest.mark.parametrize(
    ("metric", "data"),
    [
        pytest.param("clean.accuracy", {"sst2": {"fingerprint": "another"}}, id="task"),
        pytest.param("ood.hans.accuracy", {"hans": {"fingerprint": "another"}}, id="challenge set"),
        pytest.param("ood.hans.accuracy", {"hans (ood)": {"fingerprint": "another"}}, id="challenge set with the name of a task"),
    ],
)
def test_cells_of_other_data_are_compared_with_a_note(tmp_path: Path, metric: str, data: dict[str, dict[str, str]]) -> None:
    one, other = (measured_cell(tmp_path, {"method": name}, clean=["1100"], ood=["1100"]) for name in ("a", "b"))
    assert other.results is not None
    other = evolve(other, results={**other.results, "data": {**other.results["data"], **data}})
    (found,) = compare_with_baseline(compared(one, other), [metric], baseline="b")
    assert found.notes[-1] == "the data of the two are not the same: examples are paired by their ids, whatever their texts"


def test_a_metric_that_no_cell_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run has the metric `clean.acuracy`"):
        compare(tmp_path, "clean.acuracy")
