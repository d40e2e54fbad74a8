from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from support.evaluate_results import clean, hans, judged, results, stages

from ticketlab.cli import output, run_recipe
from ticketlab.report.rows import ResultRow, result_rows


def shown(found: list[ResultRow], width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """Print rows. Returns the lines of stdout, with words separated by one space, and stderr."""
    monkeypatch.setattr(output, "open_console", lambda: Console(width=width))
    run_recipe.print_rows(found, "the title")
    printed = capsys.readouterr()
    return [" ".join(line.split()) for line in printed.out.splitlines()], printed.err


def three_seeds(**more: Any) -> list[ResultRow]:
    return result_rows(results(*(stages(ood={"hans": hans(yes, 10, **more)}) for yes in (30, 34, 38))))


def after(lines: list[str], title: str) -> list[str]:
    """Return the lines of the table with this title."""
    start = lines.index(title)
    return lines[start : next((at for at in range(start + 4, len(lines)) if not lines[at]), len(lines))]


def test_the_columns_of_challenge_sets_follow_clean_with_the_majority_baseline_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = shown(three_seeds(), 200, monkeypatch, capsys)
    main = after(lines, "the title")
    assert "hans hans" in main
    assert "Clean % Balanced % Weighted F1 % Acc % Weighted F1 % Sparsity % Trained Search s Training s" in main
    start = "srnet 90.0 ± 0.0 93.3 ± 0.0 80.0 ± 0.0 55.0 ± 5.0 60.0 ± 0.0 50.0 ± 0.0 640 15.0 ± 0.0 13.0 ± 0.0"
    assert any(line.startswith(start) for line in main)
    assert main[-1] == "majority class 50.0 33.3 33.3 50.0 33.3 - - - -"
    caption = " ".join(lines)
    assert "100 examples evaluated; 80 of hans" in caption
    assert "majority class: always predicting the most common label of the set" in caption


@pytest.mark.parametrize("width", [80, 200])
def test_majority_and_recall_are_shown_without_challenge_sets(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = results(stages())  # a model that always predicts one label has an accuracy of 99
    found["tasks"]["mnli"]["0"]["evaluate"]["clean"] = judged({"clean": 99, "toxic": 0}, {"clean": 99, "toxic": 1})
    lines, _ = shown(result_rows(found), width, monkeypatch, capsys)
    assert any(line.startswith("srnet 99.0 50.0") for line in lines)
    assert any(line.startswith("majority class 99.0 50.0") for line in lines)
    assert after(lines, "mnli: classes")[2:] == ["Examples % Predicted % Recall %", lines[lines.index("mnli: classes") + 3], *[
        "clean 99.0 100.0 100.0", "toxic 1.0 0.0 0.0"
    ]]  # fmt: skip
    text = "\n".join(lines)
    for word in ("F1 %", " by "):
        assert word not in text
    assert max(map(len, lines)) <= width


def test_the_benchmark_s_measures_are_shown_after_the_accuracy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"positive_label": "same", "binary_f1": 0.75, "majority_binary_f1": 0.0, "matthews": 0.4567, "majority_matthews": 0.0}
    found = results(stages())
    found["tasks"]["mnli"]["0"]["evaluate"]["clean"] = judged({"other": 5, "same": 3}, {"other": 6, "same": 4}, **more)
    found["data"] = {"mnli": {"measures": ["binary_f1", "matthews"]}}
    lines, _ = shown(result_rows(found), 200, monkeypatch, capsys)
    assert any(line.startswith("Clean % Balanced % same Matthews") for line in lines)  # under F1 %
    assert any(line.startswith("srnet 80.0 79.2 75.0 0.457") for line in lines)
    assert any(line.startswith("majority class 60.0 50.0 0.0 0.000") for line in lines)
    assert not any("Matthews" in line for line in shown(result_rows({**found, "data": {}}), 200, monkeypatch, capsys)[0])


def test_sets_of_more_than_forty_classes_are_listed_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    many = {f"class {number}": 1 for number in range(41)}
    found = results(stages())
    found["tasks"]["mnli"]["0"]["evaluate"]["clean"] = judged(many, many)
    lines, error = shown(result_rows(found), 200, monkeypatch, capsys)
    assert not any("class 7" in line for line in lines)
    assert error == "mnli: classes: 41 are too many for a table; their numbers are in results.json and the --csv file\n"


def test_subsets_have_a_line_each_with_a_dash_for_the_recall_of_a_label_without_examples(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = shown(three_seeds(), 200, monkeypatch, capsys)
    table = after(lines, "hans by heuristic")
    assert "Majority entailment non-entailment" in table
    assert "n % Acc % % %" in table
    assert "lexical_overlap 60 66.7 56.7 ± 6.7 85.0 ± 10.0 0.0 ± 0.0" in table
    assert "constituent 20 100.0 50.0 ± 0.0 - 50.0 ± 0.0" in table


def test_class_tables_show_the_percentages_of_examples_and_predictions_of_each_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _ = shown(three_seeds(), 200, monkeypatch, capsys)
    assert after(lines, "hans: classes")[4:] == [
        "entailment 50.0 82.5 ± 0.0 85.0 ± 10.0",
        "non-entailment 50.0 12.5 ± 0.0 25.0 ± 0.0",
        "outside - 5.0 ± 0.0 -",
    ]
    assert after(lines, "mnli: classes")[4:] == [
        "entailment 50.0 50.0 ± 0.0 80.0 ± 0.0",
        "neutral 30.0 30.0 ± 0.0 100.0 ± 0.0",
        "contradiction 20.0 20.0 ± 0.0 100.0 ± 0.0",
    ]
    assert "outside: predictions that map to no label of the set" in " ".join(lines)


def test_one_seed_has_no_deviation_and_a_set_without_subsets_has_no_subset_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flat = judged({"yes": 6, "no": 1}, {"yes": 8, "no": 2}, weighted_f1=0.7, majority_weighted_f1=0.711)
    lines, error = shown(result_rows(results(stages(ood={"paws": flat}))), 200, monkeypatch, capsys)
    text = "\n".join(lines)
    assert "±" not in text
    assert "outside" not in text
    assert "paws by" not in text
    assert error == ""
    assert any(line.startswith("majority class 50.0 33.3 33.3 80.0 71.1") for line in lines)
    assert after(lines, "paws: classes")[4:] == ["yes 80.0 90.0 75.0", "no 20.0 10.0 50.0"]
    lines, _ = shown(result_rows(results(stages(ood={"mnli": flat}))), 200, monkeypatch, capsys)
    assert [line for line in lines if line.endswith(": classes")] == ["mnli: classes", "mnli (challenge set): classes"]


def test_columns_with_many_values_come_last_and_those_with_more_than_forty_are_listed_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, error = shown(three_seeds(columns={"template": 41, "subcase": 40, "kind": 12}), 200, monkeypatch, capsys)
    order = [lines.index(title) for title in ("hans by kind", "hans by heuristic", "hans: classes", "hans by subcase")]
    assert order == sorted(order)
    assert sum(line.startswith("subcase ") for line in lines) == 40
    assert not any("template" in line for line in lines)
    assert error == "hans by template: 41 values are too many for a table; their numbers are in results.json and the --csv file\n"


def test_several_models_are_side_by_side_under_the_distinct_part_of_their_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = stages(ood={"hans": hans(38, 10)})
    found["dense"] = {"kind": "evaluate", "of": "finetune", "clean": clean(50), "ood": {"hans": hans(30, 10)}}
    lines, _ = shown(result_rows(results(found)), 200, monkeypatch, capsys)
    table = after(lines, "hans by heuristic")
    assert "Majority search entailment non-entailment finetune entailment non-entailment" in table
    assert "lexical_overlap 60 66.7 63.3 95.0 0.0 50.0 75.0 0.0" in table
    assert sum("majority class 50.0" in line for line in lines) == 1


def test_each_task_has_its_own_majority_under_its_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    first = result_rows(results(stages(ood={"hans": hans(30, 10)})))
    paws = judged({"yes": 6, "no": 1}, {"yes": 8, "no": 2}, weighted_f1=0.7, majority_weighted_f1=0.711)
    other = result_rows(results(stages(ood={"paws": paws}), task="qqp"))
    lines, _ = shown([*first, *other, *first], 250, monkeypatch, capsys)
    starts = [" ".join(line.split()[:3]) for line in after(lines, "the title")[4:]]
    assert [start for start in starts if start[0] not in "(─"] == [
        *["srnet mnli 90.0"] * 2,
        "majority class mnli",
        "srnet qqp 90.0",
        "majority class qqp",
    ]
    assert "majority class qqp 50.0 33.3 33.3 - - 80.0 71.1 - - - -" in lines
    assert "qqp, paws: classes" in lines


@pytest.mark.parametrize("width", [80, 120, 160])
@pytest.mark.parametrize("seeds", [1, 3])
def test_nothing_is_truncated_or_too_wide(
    width: int, seeds: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"hans": hans(30, 10, columns={"subcase": 14}), "fever_symmetric_v1": hans(34, 10), "paws_qqp": hans(38, 10)}
    found = stages(ood=sets)
    found["dense"] = {"kind": "evaluate", "of": "finetune", "clean": clean(50), "ood": sets}
    monkeypatch.setattr(output, "open_console", lambda: Console(width=width))
    run_recipe.print_rows(result_rows(results(*[found] * seeds, recipe="mask-training-poe")), "the title")
    text = capsys.readouterr().out
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for word in ("fever_symmetric_v1", "non-entailment", "Sparsity %", "Training s", "lexical_overlap", "subcase 13"):
        assert word in text, word


@pytest.mark.parametrize("width", [80, 200])
def test_labels_sets_and_values_are_not_markup(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ood = hans(30, 10)
    ood["subsets"] = {"[b]column": {"[red]value[/red]": ood["subsets"]["heuristic"]["constituent"] | {"recall": {"[i]label": 0.5}}}}
    ood["labels"] = {"[i]label": 80}
    lines, _ = shown(result_rows(results(stages(ood={"[bold]set": ood}), recipe="[link]")), width, monkeypatch, capsys)
    text = "\n".join(lines)
    for word in ("[link]", "[bold]set by [b]column", "[red]value[/red]", "[i]label", "[bold]set: classes", "80 of [bold]set"):
        assert word in text, word
    assert any("[bold]set [bold]set" in line for line in lines)
