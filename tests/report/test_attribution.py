"""Each number in a table or CSV file identifies its model, checkpoint, stage and attack; identical computations are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.number_files import csv_of, summaries

from ticketlab.cli import output, run_recipe
from ticketlab.report.identical_results import identity_notes
from ticketlab.report.main_table import table_title
from ticketlab.report.rows import result_rows


def attack(aua: float, of: str = "retrain", at: str = "", *, key: str = "", split: str = "test", size: int = 100, **settings: Any) -> Any:
    numbers = {"clean": 0.9, "aua": aua, "suc": 1 - aua / 0.9, "queries": 20.0, "n": size}
    sample = {"split": split, "size": size, "seed": 0}
    one = {"kind": "attack", "key": key or f"attack {aua}", "of": of, "attacks": {"pwws": numbers}, "sample": sample, "settings": settings}
    return {**one, "at": at} if at else one


def evaluate(accuracy: float, of: str = "retrain", at: str = "", *, key: str = "", split: str = "test", **more: Any) -> Any:
    clean = {"split": split, "accuracy": accuracy, "n": 400, "majority": 0.5}
    cost = {"seconds": 5.0, "prediction_seconds": 4.0}
    one = {"kind": "evaluate", "key": key or f"evaluate {accuracy}", "of": of, "clean": clean, "cost": cost, **more}
    return {**one, "at": at} if at else one


def train(seconds: float, key: str = "", **inputs: str) -> Any:
    cost = {"seconds": seconds + 1, "training_seconds": seconds}
    return {"kind": "train", "key": key or f"train {seconds}", "inputs": inputs, "train": {"trainable_parameters": 9}, "cost": cost}


def results(*seeds: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"run": "mine-0123456789", "recipe": "mine", "scale": "full", "model": "demo", "seeds": list(range(len(seeds)))}
    return {
        **head,
        "tasks": {"sst2": {str(seed): {"finetune": train(7), "retrain": train(5), **found} for seed, found in enumerate(seeds)}},
        **more,
    }


def labels(found: dict[str, Any]) -> dict[str, float]:
    """Return the accuracy under attack by the label that it is shown with."""
    return {f"{row.label}: {cells.label}": cells.aua.mean for row in result_rows(found) for cells in row.attacks if cells.aua}


@pytest.mark.parametrize(
    ("stages", "shown"),
    [
        pytest.param(
            {"attack": attack(0.3), "early": attack(0.6, at="6")},
            {"mine retrain: pwws": 0.3, "mine retrain@6: pwws": 0.6},
            id="a checkpoint",
        ),
        pytest.param({"early": attack(0.6, at="6")}, {"mine retrain@6: pwws": 0.6}, id="a checkpoint alone"),
        pytest.param(
            {"attack": attack(0.3), "short": attack(0.6)},
            {"mine: pwws (attack)": 0.3, "mine: pwws (short)": 0.6},
            id="two stages of one model",
        ),
        pytest.param(
            {"attack": attack(0.3, timeout=5), "dense": attack(0.6, "finetune")},
            {"mine retrain: pwws (attack)": 0.3, "mine finetune: pwws (dense)": 0.6},
            id="other settings for another model",
        ),
        pytest.param(
            {"attack": attack(0.3), "dense": attack(0.6, "finetune")},
            {"mine retrain: pwws": 0.3, "mine finetune: pwws": 0.6},
            id="the same settings for another model",
        ),
    ],
)
def test_each_attack_has_a_unique_label(stages: dict[str, Any], shown: dict[str, float], tmp_path: Path) -> None:
    assert labels(results(stages)) == shown
    lines = [line for line in summaries(csv_of(tmp_path / "a.csv", results(stages))) if line["metric"] == "attack.pwws.aua"]
    numbers = {(line["of"], line["checkpoint"], line["stage"], line["attack"]): float(line["value"]) for line in lines}
    assert numbers == {(stage["of"], stage.get("at", ""), name, "pwws"): stage["attacks"]["pwws"]["aua"] for name, stage in stages.items()}


def test_two_evaluations_of_a_model_are_two_rows_and_its_attacks_a_third(tmp_path: Path) -> None:
    stages = {"evaluate": evaluate(0.8), "mapped": evaluate(0.7), "on-dev": evaluate(0.9, split="dev"), "attack": attack(0.3, split="dev")}
    found = result_rows(results(stages))
    clean = {row.label: row.clean and row.clean.mean for row in found}
    assert clean == {"mine evaluate on test": 0.8, "mine mapped on test": 0.7, "mine on-dev on dev": 0.9, "mine": None}
    lines = summaries(csv_of(tmp_path / "a.csv", results(stages)))
    numbers = {(line["stage"], line["metric"]): float(line["value"]) for line in lines if line["metric"].endswith("clean.accuracy")}
    assert numbers == {("evaluate", "clean.accuracy"): 0.8, ("mapped", "clean.accuracy"): 0.7, ("on-dev", "dev.clean.accuracy"): 0.9}
    assert sum(line["metric"] == "cost.seconds" for line in lines) == 1  # the cost of the model is written once
    (aua,) = [line for line in lines if line["metric"] == "dev.attack.pwws.aua"]
    assert (aua["split"], aua["sample"], aua["sample_seed"], aua["run"], aua["key"]) == ("dev", "100", "0", "mine-0123456789", "attack 0.3")


def test_titles_name_another_split_and_the_attacked_sample() -> None:
    found = results({"evaluate": evaluate(0.9, split="dev"), "attack": attack(0.3), "more": attack(0.4, split="dev", size=1)})
    attacks = "attacks on a sample of 100 examples and a sample of 1 example of dev"
    assert table_title(found) == f"sst2, model demo, 1 seed, evaluated on dev, {attacks}"
    assert table_title(results({"evaluate": evaluate(0.9)})) == "sst2, model demo, 1 seed"


def test_tables_of_several_evaluations_and_attacks_show_each_number_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "open_console", lambda: Console(width=80))
    stages = {"evaluate": evaluate(0.8), "on-dev": evaluate(0.95, split="dev"), "early": evaluate(0.6, at="6")}
    run_recipe.print_rows(result_rows(results({**stages, "attack": attack(0.31), "more": attack(0.42)})), "the title")
    text = capsys.readouterr().out
    for number in ("80.0", "95.0", "60.0", "31.0", "42.0"):
        assert text.count(f" {number} ") == 1, number
    assert "400 examples evaluated; 400 examples of dev evaluated" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines() if not line.startswith("Note: ")) <= 80


@pytest.mark.parametrize(
    ("model", "seconds"),
    [
        # all seconds, those of the optimizer steps of searches, and those of training
        pytest.param(evaluate(0.9), (6.0, None, 5.0), id="retrain does not start from finetune"),
        pytest.param(evaluate(0.9, at="6"), (None, None, None), id="a checkpoint"),
        pytest.param(evaluate(0.9, "search"), (None, 20.0, None), id="a model that starts from a checkpoint"),
        pytest.param(evaluate(0.9, "after"), (8.0 + 21 + 12, 20.0, 7.0 + 11), id="a checkpoint and the whole model"),
    ],
)
def test_seconds_count_the_stages_that_led_to_the_model_and_only_whole_ones(model: Any, seconds: tuple[float | None, ...]) -> None:
    search = {"kind": "search", "key": "s", "inputs": {"start": "finetune@25%"}, "cost": {"seconds": 21.0, "training_seconds": 20.0}}
    after = train(11, start="finetune", ticket="search")
    (row,) = result_rows(results({"search": search, "after": after, "evaluate": model}))
    assert tuple(one and one.mean for one in (row.seconds, row.search_seconds, row.training_seconds)) == seconds
    assert any("only whole stages are timed" in note for note in identity_notes([row])) == (row.seconds is None)


def test_latency_includes_the_examples_of_challenge_sets() -> None:
    (row,) = result_rows(results({"evaluate": evaluate(0.9, ood={"hans": {"n": 1600, "accuracy": 0.5}})}))
    assert row.latency is not None
    assert row.latency.mean == pytest.approx(4.0 / 2000)


def test_seeds_that_share_a_measurement_count_once_with_a_note() -> None:
    stages = {"evaluate": evaluate(0.8, "./model", key="one"), "attack": attack(0.3, "./model", key="two")}
    (row,) = result_rows(results(stages, stages, stages))
    assert (row.seeds, row.clean and row.clean.deviation, row.attacks[0].aua and row.attacks[0].aua.deviation) == (1, None, None)
    assert identity_notes([row]) == ["mine: seeds share a measurement, because it does not depend on the seed: 1 of 3 counts"]


def test_notes_report_models_and_measurements_with_the_same_key() -> None:
    stages = {
        "pgd": train(5, key="train 5"),
        "evaluate": evaluate(0.8, key="a"),
        "evaluate-pgd": evaluate(0.8, "pgd", key="a"),
        "attack": attack(0.3, key="b"),
        "again": attack(0.3, key="b"),
    }
    assert identity_notes(result_rows(results(stages))) == [
        "mine pgd is the same model as mine retrain: the settings in which they differ have no effect",
        "mine retrain: pwws (again) is the same measurement as pwws (attack): the settings in which they differ have no effect",
    ]
    two = (
        result_rows(results({"evaluate": evaluate(0.8, key="a")})),
        result_rows(results({"evaluate": evaluate(0.7, key="b")}, label="mine (x=1)")),
    )
    other = result_rows(results({"evaluate": evaluate(0.8, key="a")}, label="mine (loss=poe)"))
    assert identity_notes([*two[0], *two[1]]) == []
    assert identity_notes([*two[0], *other]) == [
        "mine (loss=poe) is the same measurement as mine: the differences between them have no effect"
    ]


def test_overrides_stay_in_the_label_if_the_recipe_s_name_is_replaced() -> None:
    found = results({"evaluate": evaluate(0.8), "early": evaluate(0.7, at="6")}, label="mine (pruner=magnitude)")
    assert [row.label for row in result_rows(found)] == ["mine (pruner=magnitude) retrain", "mine (pruner=magnitude) retrain@6"]
    assert [row.label for row in result_rows(found, "./model")] == [
        "./model (pruner=magnitude) retrain",
        "./model (pruner=magnitude) retrain@6",
    ]


def test_csv_has_the_smallest_and_the_largest_sample_size(tmp_path: Path) -> None:
    found = results({"attack": attack(0.3, size=95, key="a")}, {"attack": attack(0.5, size=100, key="b")})
    (aua,) = [line for line in summaries(csv_of(tmp_path / "a.csv", found)) if line["metric"] == "attack.pwws.aua"]
    assert (aua["n"], aua["n_largest"], aua["seeds"]) == ("95", "100", "2")
