"""``attack MODEL``: one stage per attack, and the files of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import Result

from ticketlab.attacks.results.metrics import measure
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile, path_in
from ticketlab.cli import run_recipe
from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.lab import Lab
from ticketlab.runs import measure as runs_measure

Invoke = Callable[..., Result]


def made(count: int, status: str = "failed") -> list[Record]:
    return [Record(id=str(n), status=status, original=["x"], label="a") for n in range(count)]  # type: ignore[arg-type]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replaces the run: writes ``rows`` for each attack, in a stage with its own key, and collects the recipes."""
    state = SimpleNamespace(recipes=[], rows=made(3), config="1", size=0, place=tmp_path / "lab", name="attack-1")

    def run(recipe: Any, lab: Path, starting: Any, name: str | None = None, attack_execution: Any = None) -> Any:
        state.recipes.append(recipe)
        state.execution = attack_execution
        for task in recipe.tasks:
            for stage in recipe.stages:
                starting(task.label, stage, state.config)
        stages = {}
        for number, (name, stage) in enumerate(recipe.stages.items()):
            (attack,) = stage.attacks
            path = path_in(Lab(lab).stage(f"key{number}"), attack.label)
            path.unlink(missing_ok=True)
            file = RecordFile(path, state.config, attack=attack.label)
            for row in state.rows:
                file.add(row)
            table = {attack.label: measure(state.rows).to_table()}
            sample = {"size": state.size or len(state.rows)}
            stages[name] = {"kind": "attack", "key": f"key{number}", "of": stage.model, "attacks": table, "sample": sample}
        tasks = {task.label: {"0": stages} for task in recipe.tasks}
        results = {"run": state.name, "recipe": recipe.name, "scale": "full", "model": "demo", "seeds": [0], "tasks": tasks}
        return SimpleNamespace(directory=Path(lab) / "runs" / state.name, results=results)

    monkeypatch.setattr(run_recipe, "run_in_lab", run)
    monkeypatch.setattr("ticketlab.runs.run.directory_name", lambda *_: state.name)
    return state


@pytest.fixture
def attack(invoke: Invoke, lab: SimpleNamespace, tmp_path: Path) -> Invoke:
    def attack(*flags: Any, names: tuple[str, ...] = ("deepwordbug",)) -> Result:
        named = [flag for name in names for flag in ("--attack", name)]
        return invoke("attack", tmp_path, "--task", "demo", "--lab", lab.place, *named, *flags)

    return attack


def test_the_executor_that_is_named_shares_the_examples_out(attack: Invoke, lab: SimpleNamespace) -> None:
    assert attack("--executor", "local", "--workers", "3").exit_code == 0
    assert lab.execution is None  # the attack starts its own processes
    assert attack("--executor", "local", "--executor-set", "retries=5", "--workers", "3").exit_code == 0
    assert (lab.execution.executor.retries, lab.execution.jobs, lab.execution.lab.root) == (5, 3, lab.place)
    refused = attack("--executor-set", "retry=5")
    assert (refused.exit_code, "did you mean `retries`?" in refused.stderr) == (2, True)


def test_each_attack_is_a_separate_stage_so_that_adding_one_changes_no_other(attack: Invoke, lab: SimpleNamespace) -> None:
    for names in (("deepwordbug",), ("deepwordbug", "textattack:pruthi")):
        assert attack("--set", "attack.examples=7", names=names).exit_code == 0
    one, two = lab.recipes
    assert list(one.stages) == ["attack"]
    assert list(two.stages) == ["attack-deepwordbug", "attack-textattack-Pruthi2019"]
    assert two.stages["attack-deepwordbug"] == one.stages["attack"]
    assert {stage.examples for stage in two.stages.values()} == {7}


def test_records_are_copied_to_one_file_per_attack(attack: Invoke, lab: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "new" / "records.jsonl"
    assert attack("--out", out).exit_code == 0
    assert out.read_bytes() == path_in(Lab(lab.place).stage("key0"), "deepwordbug").read_bytes()
    assert attack("--out", out, names=("deepwordbug", "textattack:pruthi")).exit_code == 0
    assert (out.parent / "records-textattack-Pruthi2019.jsonl").read_bytes() == (
        path_in(Lab(lab.place).stage("key1"), "textattack:Pruthi2019").read_bytes()
    )
    assert attack("--out", out).exit_code == 0  # the same records may be written again


def test_out_that_holds_no_records_is_refused_before_anything_runs(attack: Invoke, lab: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "thesis.tex"
    out.write_text("years of work", encoding="utf-8")
    result = attack("--out", out)
    assert result.exit_code != 0
    assert f"{out}: the file exists and does not hold attack records" in result.stderr
    assert out.read_text(encoding="utf-8") == "years of work"
    assert not lab.recipes


def test_out_with_records_of_another_configuration_is_refused_before_anything_runs(
    attack: Invoke, lab: SimpleNamespace, tmp_path: Path
) -> None:
    out = tmp_path / "records.jsonl"
    assert attack("--out", out).exit_code == 0
    before, lab.config, lab.rows = out.read_bytes(), "2", made(2)
    result = attack("--out", out)
    assert result.exit_code != 0
    assert out.read_bytes() == before
    assert f"{out}: the file exists and holds the records of another attack, model, sample or setting (1, now 2)" in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(("out", "message"), [("", "the path is empty; give a file"), ("file/x", "no file can be written in")])
def test_out_that_cannot_be_written_is_refused_before_anything_runs(
    attack: Invoke, lab: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    result = attack("--out", out)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not lab.recipes


def test_records_that_went_missing_in_the_lab_are_not_copied(attack: Invoke, lab: SimpleNamespace, tmp_path: Path) -> None:
    lab.size = 4
    result = attack("--out", tmp_path / "records.jsonl")
    assert result.exit_code == 2
    assert f"records are missing that were there when the attack ended; remove {lab.place}" in result.stderr
    assert "Aua %" in result.stdout
    assert not (tmp_path / "records.jsonl").exists()


def test_precision_is_a_setting_of_the_attack(attack: Invoke, lab: SimpleNamespace) -> None:
    assert attack().exit_code == attack("--precision", "bf16").exit_code == attack("--set", "attack.precision=bf16").exit_code == 0
    assert [recipe.precision for recipe in lab.recipes] == ["fp32", "bf16", "bf16"]


def test_a_csv_file_only_replaces_numbers_of_the_same_run(attack: Invoke, lab: SimpleNamespace, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.csv"
    for _ in range(2):
        assert attack("--csv", numbers).exit_code == 0
    before, lab.name = numbers.read_text(encoding="utf-8"), "attack-2"
    assert "deepwordbug" in before
    result = attack("--csv", numbers)
    assert result.exit_code == 2
    assert f"{numbers}: the file exists and holds the numbers of another run (attack-1); name another file" in result.stderr
    assert (numbers.read_text(encoding="utf-8"), len(lab.recipes)) == (before, 2)
    in_a_file = attack("--csv", numbers / "more.csv")
    assert (in_a_file.exit_code, len(lab.recipes)) == (2, 2)
    assert "no file can be written in" in in_a_file.stderr
    data = tmp_path / "data.csv"
    data.write_text("text,label\nfine,1\n", encoding="utf-8")
    ran = len(lab.recipes)
    result = attack("--csv", data)
    assert result.exit_code != 0
    assert f"{data}: the file exists and does not hold numbers" in result.stderr
    assert data.read_text(encoding="utf-8") == "text,label\nfine,1\n"
    assert len(lab.recipes) == ran


def test_fewer_records_of_the_same_configuration_are_replaced(attack: Invoke, lab: SimpleNamespace, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    lab.rows = made(1)
    assert attack("--out", out).exit_code == 0
    lab.rows = made(3)
    assert attack("--out", out).exit_code == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == 4


@pytest.mark.parametrize(("late", "known", "code"), [(3, 2, 3), (2, 3, 0), (3, 0, 3)])
def test_an_attack_that_mostly_timed_out_gives_exit_code_three(
    attack: Invoke, lab: SimpleNamespace, late: int, known: int, code: int
) -> None:
    lab.rows = [*made(late, "timeout"), *made(known)]
    result = attack()
    assert result.exit_code == code
    assert f"{late} attacked examples were given up" in result.stderr
    assert ("deepwordbug: most examples were given up" in result.stderr) == (code == 3)


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_new(path, lambda temporary: temporary.write_text("one"))
    files.write_new(path, lambda temporary: temporary.write_text("one"))
    with pytest.raises(UsageError, match="the file already exists"):
        files.write_new(path, lambda temporary: temporary.write_text("two"))
    assert path.read_text() == "one"
    assert [child.name for child in tmp_path.iterdir()] == ["file"]


def test_attacking_from_python_runs_the_same_recipe(
    attack: Invoke, lab: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert attack("--precision", "bf16", "--n", "9", names=("deepwordbug", "pwws")).exit_code == 0
    monkeypatch.setattr(runs_measure, "run", lambda recipe, _, name: lab.recipes.append(recipe) or SimpleNamespace(results={}))
    runs_measure.attack(tmp_path, tasks="demo", attacks=["deepwordbug", "pwws"], examples=9, precision="bf16")
    from_command, from_python = lab.recipes
    assert from_python.digest() == from_command.digest()
    assert from_python.precision == "bf16"
    assert list(from_python.stages) == ["attack-deepwordbug", "attack-pwws"]
