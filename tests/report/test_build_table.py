from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from support.comparisons import cell, results, study

from ticketlab.core.errors import UsageError
from ticketlab.report.baseline_comparison import PairedComparison
from ticketlab.report.build_table import comparison_table
from ticketlab.report.cells import RUN, Cell, Comparison, Published
from ticketlab.report.comparison_table import ComparisonTable
from ticketlab.report.speed_up import SpeedUp
from ticketlab.report.table_spec import TableSpec
from ticketlab.report.table_text import plain_table, text_table
from ticketlab.statistics.paired import PairedDifference
from ticketlab.statistics.seeds import SeedStatistics

MCNEMARS = PairedDifference(first=0.8, second=0.9, difference=-0.1, p=0.1, test="exact McNemar test")


def lines(table: ComparisonTable) -> list[tuple[str, ...]]:
    """Return the texts of each line of the table."""
    data = text_table(table)
    return [tuple(text for group in (data.stub, *data.groups) for text in group.lines[number]) for number in range(len(table.rows))]


def heads(table: ComparisonTable) -> list[str]:
    data = text_table(table)
    return [head.replace("\n", " ") for group in (data.stub, *data.groups) for head in group.heads]


def methods_and_tasks() -> Comparison:
    """Two methods on two tasks with three seeds, of which one has a challenge set."""
    found = {
        ("fine-tune", "sst2"): results("sst2", clean=(0.9, 0.92, 0.94), aua={"pwws": (0.1, 0.1, 0.1)}, name="a"),
        ("ticket", "sst2"): results("sst2", clean=(0.9, 0.9, 0.9), aua={"pwws": (0.2, 0.3, 0.4)}, name="b"),
        ("fine-tune", "mnli"): results("mnli", clean=(0.8, 0.8, 0.8), ood={"hans": (0.5, 0.5, 0.5)}, name="c"),
        ("ticket", "mnli"): results("mnli", clean=(0.8, 0.8, 0.83), ood={"hans": (0.6, 0.6, 0.6)}, name="d"),
    }
    return study([cell({"method": method, "task": task}, one) for (method, task), one in found.items()])


def test_rows_are_the_factors_and_columns_the_tasks_and_metrics() -> None:
    table = comparison_table(methods_and_tasks())
    assert heads(table) == ["method", "sst2 Clean Acc %", "sst2 pwws Aua %", "mnli Clean Acc %", "mnli hans Acc %"]
    assert lines(table) == [
        ("fine-tune", "92.0 ± 2.0*", "10.0 ± 0.0", "80.0 ± 0.0", "50.0 ± 0.0"),
        ("ticket", "90.0 ± 0.0", "30.0 ± 10.0*", "81.0 ± 1.7*", "60.0 ± 0.0*"),
    ]
    assert table.title == "study: sst2, mnli, model demo, 3 seeds"
    assert table.legend == (
        "mean ± standard deviation (n - 1) over 3 seeds",
        "examples behind each seed's number: sst2 400 (Clean), 100 (pwws); mnli 400 (Clean), 80 (hans)",
    )


def test_the_whole_text_of_a_table() -> None:
    text = plain_table(comparison_table(methods_and_tasks(), TableSpec(metrics=("clean.accuracy",))))
    assert text.splitlines() == [
        "study: sst2, mnli, model demo, 3 seeds",
        "",
        "                     sst2          mnli",
        "                    Clean         Clean",
        "  method            Acc %         Acc %",
        " ───────────────────────────────────────",
        "  fine-tune   92.0 ± 2.0*    80.0 ± 0.0",
        "  ticket       90.0 ± 0.0   81.0 ± 1.7*",
        "",
        "mean ± standard deviation (n - 1) over 3 seeds",
        "examples behind each seed's number: sst2 400 (Clean); mnli 400 (Clean)",
        "* best of its column",
    ]


def test_rows_columns_and_metrics_can_be_chosen() -> None:
    spec = TableSpec(rows=("task",), columns=("method",), metrics=("attack.*.aua", "clean.accuracy"))
    table = comparison_table(methods_and_tasks(), spec)
    assert heads(table) == ["task", "fine-tune pwws Aua %", "fine-tune Clean Acc %", "ticket pwws Aua %", "ticket Clean Acc %"]
    assert lines(table) == [
        ("sst2", "10.0 ± 0.0", "92.0 ± 2.0", "30.0 ± 10.0", "90.0 ± 0.0"),
        ("mnli", "-", "80.0 ± 0.0", "-", "81.0 ± 1.7"),  # one number for each task: nothing to be the best of
    ]


def test_factors_that_the_specification_leaves_out_are_rows() -> None:
    table = comparison_table(methods_and_tasks(), TableSpec(rows=("task",), metrics=("clean.accuracy",)))
    assert heads(table) == ["task", "method", "Clean Acc %"]
    assert [line[:2] for line in lines(table)] == [("sst2", "fine-tune"), ("sst2", "ticket"), ("mnli", "fine-tune"), ("mnli", "ticket")]
    assert [line[2][-1] for line in lines(table)] == ["*", "0", "0", "*"]  # the best of each task


def test_the_specification_of_a_study_is_the_default() -> None:
    comparison = methods_and_tasks()
    table = comparison_table(study(comparison.cells, table={"rows": "task", "metrics": ["clean.accuracy"]}))
    assert heads(table) == ["task", "method", "Clean Acc %"]
    with pytest.raises(UsageError, match=r"table\.row: a study's table has no such key; did you mean `rows`\?"):
        comparison_table(study(comparison.cells, table={"row": "task"}))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (TableSpec(rows=("methods",)), "the table names the factor `methods`, which does not exist; did you mean `method`?"),
        (TableSpec(rows=("task",), columns=("task",)), "the table names the factor `task` for its rows and its columns; name it once"),
    ],
)
def test_unknown_factors_are_refused(spec: TableSpec, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        comparison_table(methods_and_tasks(), spec)
    assert str(caught.value) == message


def test_cells_without_numbers_say_why() -> None:
    table = comparison_table(
        study(
            [
                cell({"pruner": "imp", "adversary": "none"}, results(clean=(0.9,), name="a")),
                cell({"pruner": "imp", "adversary": "pgd"}, error="out of memory"),
                cell({"pruner": "random", "adversary": "none"}),
                cell(
                    {"pruner": "random", "adversary": "pgd"},
                    results(clean=(0.8,), name="b"),
                    same_as="random, none",
                    inapplicable=("adversary",),
                ),
            ]
        )
    )
    assert lines(table) == [
        ("imp", "none", "90.0*"),
        ("imp", "pgd (a)", "failed"),
        ("random", "none", "not run"),
        ("random", "pgd (b)", "80.0"),
    ]
    assert table.footnotes == ("imp, pgd failed: out of memory", "the same stages as random, none: adversary has no effect")
    assert "one seed, so there is no deviation" in table.legend


def test_a_run_that_was_removed_is_not_run() -> None:
    cells = [cell({"n": "a"}, results(clean=(0.9,))), cell({"n": "b"}, missing="its run b is no longer in the lab; repeat the study")]
    table = comparison_table(study(cells))
    assert lines(table) == [("a", "90.0"), ("b (a)", "not run")]
    assert table.footnotes == ("b: its run b is no longer in the lab; repeat the study",)


def test_limits_of_tests_are_in_the_legend_with_their_number() -> None:
    cells = [cell({"method": name}, results(clean=(value,), name=name)) for name, value in (("a", 0.9), ("b", 0.8))]
    test = PairedComparison(
        cell="b",
        baseline="a",
        task="sst2",
        metric="clean.accuracy",
        numbers=MCNEMARS,
        p_corrected=0.5,
        notes=("a limit",),
    )
    legend = comparison_table(study(cells, baseline="a"), tests=[test]).legend
    assert "a limit" in legend
    legend = comparison_table(study(cells, baseline="a"), tests=[test, evolve(test, notes=())]).legend
    assert "1 of the 2 tests: a limit" in legend


def test_numbers_of_fewer_seeds_are_marked() -> None:
    cells = [
        cell({"method": "a"}, results(clean=(0.9, 0.8), aua={"pwws": (0.2,)}, name="a")),
        cell({"method": "b"}, results(clean=(0.7,), aua={"pwws": (0.1,)}, name="b")),
    ]
    table = comparison_table(study(cells))
    assert lines(table) == [("a", "85.0 ± 7.1*", "20.0* (a)"), ("b (a)", "70.0", "10.0")]
    assert table.footnotes == ("1 seed instead of 2",)


def test_a_measurement_that_seeds_share_counts_once() -> None:
    found = results(clean=(0.9, 0.9, 0.9), name="a")
    for stages in found["tasks"]["sst2"].values():
        stages["evaluate"]["key"] = "one"
    table = comparison_table(study([cell({"method": "a"}, found)]))
    assert lines(table) == [("a (a)", "90.0")]
    assert table.footnotes == ("1 measurement for 3 seeds, since it does not depend on the seed",)


def test_numbers_that_look_equal_are_all_the_best_unless_all_are() -> None:
    def best(*accuracies: float) -> list[bool]:
        cells = [cell({"method": str(n)}, results(clean=(accuracy,), name=str(n))) for n, accuracy in enumerate(accuracies)]
        return [row.entries[0].best for row in comparison_table(study(cells)).rows]

    assert best(0.9001, 0.9004, 0.88) == [True, True, False]
    assert best(0.9001, 0.9004) == [False, False]
    assert best(0.9) == [False]


def test_attacks_on_different_samples_are_not_compared() -> None:
    found = [results("sst2", aua={"pwws": (aua,)}) for aua in (0.1, 0.2, 0.3)]
    found[2]["tasks"]["sst2"]["0"]["attack"]["sample"] |= {"size": 2, "seed": 4}
    table = comparison_table(study([cell({"n": str(number)}, one) for number, one in enumerate(found)]))
    assert [row.entries[-1].best for row in table.rows] == [False, False, False]
    assert "attacked 2 examples (sample seed 4); others of this metric are on other samples, and are not compared" in table.footnotes
    table = comparison_table(study([cell({"n": str(number)}, one) for number, one in enumerate(found[:2])]))
    assert [row.entries[-1].best for row in table.rows] == [False, True]


@pytest.mark.parametrize(("metric", "best"), [("cost.training_seconds", 0), ("sparsity.weights", None), ("clean.accuracy", 1)])
def test_the_best_is_the_lowest_cost_and_the_highest_score_and_a_sparsity_is_none(metric: str, best: int | None) -> None:
    cells = [cell({"n": str(n)}, results(clean=(n / 10,), seconds=(n,), sparsity=n / 10, name=str(n))) for n in (1, 2)]
    entries = [row.entries[0].best for row in comparison_table(study(cells), TableSpec(metrics=(metric,))).rows]
    assert entries == [number == best for number in range(2)]


def test_published_numbers_have_their_own_rows() -> None:
    published = (
        Published({"method": "fine-tune", "task": "sst2"}, "clean.accuracy", 92.0),
        Published({"method": "ticket", "task": "sst2"}, "attack.pwws.aua", 26.75),
        Published({"method": "InfoBERT", "task": "sst2"}, "clean.accuracy", 92.1),
        Published({"task": "mnli"}, "clean.accuracy", 84),
        Published({"method": "ticket", "dataset": "sst2"}, "clean.accuracy", 1),
    )
    comparison = methods_and_tasks()
    table = comparison_table(study(comparison.cells, published=published), TableSpec(metrics=("clean.accuracy", "attack.pwws.aua")))
    assert heads(table) == ["method", "", "sst2 Clean Acc %", "sst2 pwws Aua %", "mnli Clean Acc %"]
    assert lines(table) == [
        ("fine-tune", "ours", "92.0 ± 2.0*", "10.0 ± 0.0", "80.0 ± 0.0"),
        ("fine-tune", "paper", "92.0", "-", "84.0"),
        ("ticket", "ours", "90.0 ± 0.0", "30.0 ± 10.0*", "81.0 ± 1.7*"),
        ("ticket", "paper", "-", "26.75", "84.0"),
        ("InfoBERT", "paper", "92.1", "-", "84.0"),
    ]
    assert table.notes == ("left out: 1 published number of levels that no cell has, such as method ticket, dataset sst2",)


def test_significant_differences_and_speed_ups_are_shown() -> None:
    cells = [
        cell({"method": "fine-tune"}, results(clean=(0.9,), seconds=(8,), name="a")),
        cell({"method": "ticket"}, results(clean=(0.8,), seconds=(4,), name="b")),
    ]
    comparison = study(cells, baseline="fine-tune")
    test = PairedComparison(cell="ticket", baseline="fine-tune", task="sst2", metric="clean.accuracy", numbers=MCNEMARS, p_corrected=0.02)
    ratio = SpeedUp("ticket", "fine-tune", "sst2", SeedStatistics(2.0, None, None, 1), seeds=(0,))
    table = comparison_table(comparison, tests=[test], speed_ups=[ratio])
    assert heads(table) == ["method", "Clean Acc %", "Cost Training s", "Cost Speed-up"]
    assert lines(table) == [("fine-tune", "90.0*", "8.0", "1.00"), ("ticket", "80.0†", "4.0*", "2.00*")]
    assert table.significance == "differs from that of fine-tune with p < 0.05 (exact McNemar test; Holm's correction for 1 test)"
    not_significant = PairedComparison(
        cell="ticket", baseline="fine-tune", task="sst2", metric="clean.accuracy", numbers=MCNEMARS, p_corrected=0.2
    )
    table = comparison_table(comparison, tests=[not_significant])
    assert lines(table)[1][1] == "80.0"
    assert "no number differs from that of fine-tune with p < 0.05 (exact McNemar test; Holm's correction for 1 test)" in table.legend


def several_models() -> Comparison:
    """One run that measured its final model and a checkpoint, and attacked the model in two stages."""
    found = results(clean=(0.9,), aua={"pwws": (0.3,)}, name="a")
    stages = found["tasks"]["sst2"]["0"]
    stages["early"] = {**stages["evaluate"], "at": "500", "key": "early", "clean": {"split": "test", "accuracy": 0.7, "n": 400}}
    stages["again"] = {**stages["attack"], "key": "again", "attacks": {"pwws": {"aua": 0.1, "n": 100}}}
    return study([cell({RUN: "mine"}, found)])


def test_each_measured_model_and_each_of_several_measurements_has_a_row() -> None:
    table = comparison_table(several_models(), TableSpec(metrics=("clean.accuracy", "attack.pwws.aua")))
    assert heads(table) == ["run", "measured model", "Clean Acc %", "pwws Aua %"]
    assert lines(table) == [
        ("mine", "train", "90.0*", "-"),
        ("mine", "train, attack", "-", "30.0*"),
        ("mine", "train@500", "70.0", "-"),
        ("mine", "train, again", "-", "10.0"),
    ]


def runs(*found: dict[str, Any]) -> Comparison:
    return study([cell({RUN: f"run {number}"}, one) for number, one in enumerate(found)])


def test_runs_of_other_tasks_models_and_scales_are_told_apart() -> None:
    table = comparison_table(
        runs(results("sst2", clean=(0.9,), name="a"), results("mnli", clean=(0.8,), model="large", scale="small", name="b"))
    )
    assert heads(table) == ["run", "task", "model", "scale", "Clean Acc %"]
    assert lines(table) == [("run 0", "sst2", "demo", "full", "90.0"), ("run 1", "mnli", "large", "small", "80.0")]
    assert table.title == "study: sst2, mnli, models demo, large, 1 seed, scale small (reduced)"
    assert table.notes == ("the runs have different scales (full, small); their numbers are not comparable",)


def test_a_factor_of_tasks_is_the_columns_unless_it_is_the_only_factor() -> None:
    def made(n: str, data: str) -> Cell:
        return cell({"data": data, "n": n}, results(f"./{data}.csv", clean=(0.9,), name=n + data))

    cells = [made(n, data) for n in "12" for data in ("films", "hotels")]
    assert heads(comparison_table(study(cells, keys={"data": "task"}))) == ["n", "films Clean Acc %", "hotels Clean Acc %"]
    assert heads(comparison_table(study(cells[:2], keys={"data": "task"}))) == ["data", "Clean Acc %"]


def test_warnings_are_listed_once_with_their_cells() -> None:
    found = [results(clean=(0.9,), warnings=["odd", f"only {n}"] if n else ["odd"], name=str(n)) for n in range(3)]
    table = comparison_table(runs(*found))
    assert table.warnings == ("sst2, evaluate: odd", "run 1: sst2, evaluate: only 1", "run 2: sst2, evaluate: only 2")


def test_a_comparison_without_results_has_a_table() -> None:
    table = comparison_table(study([cell({"n": "1"}), cell({"n": "2"}, error="bad")]), TableSpec(metrics=("clean.accuracy",)))
    assert lines(table) == [("1", "not run"), ("2 (a)", "failed")]


@pytest.mark.parametrize("key", ["task", "task+model"])
def test_the_best_number_is_that_of_a_task_whatever_the_name_of_its_factor(key: str) -> None:
    found = {("easy", "a"): 0.9, ("easy", "b"): 0.8, ("hard", "a"): 0.2, ("hard", "b"): 0.3}
    made = study([cell({"data": data, "method": method}, results(data, clean=(value,))) for (data, method), value in found.items()])
    factors = [evolve(factor, key=key) if factor.name == "data" else factor for factor in made.factors]
    table = comparison_table(evolve(made, factors=tuple(factors)), TableSpec(rows=("data", "method"), metrics=("clean.accuracy",)))
    assert [line[-1] for line in lines(table)] == ["90.0*", "80.0", "20.0", "30.0*"]
