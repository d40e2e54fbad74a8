"""Commands on models, records, tickets and scores accept the name of a recipe, or ``latest``, for its latest finished run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.small_recipe import needs_textattack

from ticketlab.cli.main import cli
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.lab.finished_runs import find_run
from ticketlab.recipes.compose import compose
from ticketlab.runs.run import run

MODEL = {"finetune": {"kind": "train", "key": "ab12"}, "evaluate": {"kind": "evaluate", "key": "cd34", "of": "finetune"}}
TICKET = {"search": {"kind": "search", "key": "aa11"}, "draw": {"kind": "draw", "key": "bb22"}}
OUTSIDE = {"attack": {"kind": "attack", "key": "ef56", "of": "/somewhere/model"}}
RUNS: dict[str, dict[str, Any]] = {  # the oldest first
    "fine-tune-0000000001": MODEL,
    "fine-tune-0000000002": MODEL | TICKET,
    "fine-tune-best-0000000003": MODEL,
    "ticket-0000000004": TICKET,
    "attack-0000000005": OUTSIDE,
}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number, (name, stages) in enumerate(RUNS.items()):
        folder = tmp_path / "lab" / "runs" / name
        folder.mkdir(parents=True)
        results = {"recipe": name.rpartition("-")[0], "tasks": {"sst2": {"0": stages}}}
        (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
        os.utime(folder / "results.json", ns=(number, number))
    (tmp_path / "lab" / "runs" / "fine-tune-9999999999").mkdir()  # not finished
    (tmp_path / "lab" / "runs" / "fine-tune-8888888888").mkdir()
    (tmp_path / "lab" / "runs" / "fine-tune-8888888888" / "results.json").write_text("[1, 2", encoding="utf-8")
    return Path("lab")


@pytest.mark.parametrize(
    ("name", "kind", "run"),
    [
        ("fine-tune", "model", "fine-tune-0000000002"),
        ("latest", "model", "fine-tune-best-0000000003"),
        ("fine-tune-best", "model", "fine-tune-best-0000000003"),
        ("fine-tune-0000000001", "model", "fine-tune-0000000001"),
        ("latest", "attack", "attack-0000000005"),
        ("latest", "draw", "ticket-0000000004"),
        ("fine-tune", "search", "fine-tune-0000000002"),
    ],
)
def test_a_name_means_the_latest_run_with_the_requested_kind_of_result(
    lab: Path, capsys: pytest.CaptureFixture[str], name: str, kind: Any, run: str
) -> None:
    assert find_run(name, lab, kind) == f"lab/runs/{run}"
    said = capsys.readouterr().err
    assert (f"{name}: lab/runs/{run}, " in said) is (name != run)
    assert len(said.splitlines()) == (name != run)


@pytest.mark.parametrize("name", ["owner/name", "bert-base-uncased", "demo", "./here", "", "fine*"])
def test_any_other_name_is_returned_unchanged(lab: Path, name: str) -> None:
    assert find_run(name, lab, "model") == name


def test_an_existing_folder_takes_precedence(lab: Path) -> None:
    for name in ("fine-tune", "latest"):
        Path(name).mkdir()
        assert find_run(name, lab, "model") == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fine-tnue", r"^fine-tnue: neither a folder here nor a recipe with a finished run in lab; did you mean `fine-tune`\?$"),
        ("latest", r"^latest: no lab at `elsewhere` \(use --lab for another folder\)$"),
        ("latest ", r"^latest: no finished run in empty has an evaluated model \(use --lab for another lab\)$"),
    ],
)
def test_a_missing_run_is_reported(lab: Path, name: str, message: str) -> None:
    Path("empty").mkdir()
    where = {"latest": Path("elsewhere"), "latest ": Path("empty")}
    with pytest.raises(UsageError, match=message):
        find_run(name.strip(), where.get(name, lab), "model")


COMMANDS = {
    "evaluate": ["evaluate", "{}", "--task", "demo"],
    "attack": ["attack", "{}", "--task", "demo", "--attack", "deepwordbug"],
    "attack show": ["attack", "show", "{}"],
    "attack export": ["attack", "export", "{}", "--out", "x.csv"],
    "ticket info": ["ticket", "info", "{}"],
    "ticket draw": ["ticket", "draw", "{}", "--sparsity", "0.5", "--out", "x"],
    "ticket apply": ["ticket", "apply", "x", "{}", "--out", "y"],
    "ticket export": ["ticket", "export", "{}", "--format", "dense", "--out", "y"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_on_a_run_accepts_latest(lab: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def stop(name: str, lab: Path, kind: str) -> str:
        raise UsageError(f"find {name} in {lab}")

    monkeypatch.setattr("ticketlab.lab.finished_runs.find_run", stop)
    monkeypatch.setattr("ticketlab.tickets.ticket.Ticket.load", lambda _: None)
    ticket = words[:2] == ["ticket", "apply"]
    result = CliRunner().invoke(cli, [*(word.format("latest") for word in words), "--lab", str(lab)])
    assert result.stderr == f"error: find {'x' if ticket else 'latest'} in lab\n"


@pytest.mark.parametrize("words", [words for name, words in COMMANDS.items() if name != "attack export"])
def test_the_error_for_a_pattern_that_matches_several_runs_suggests_latest(words: list[str]) -> None:
    at = words.index("{}")
    result = CliRunner().invoke(cli, [*words[:at], "lab/runs/a-1", "lab/runs/a-2", *words[at + 1 :]])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "unexpected argument `lab/runs/a-2`; one " in result.stderr
    assert "`latest` for the latest run" in result.stderr


@needs_textattack
def test_a_missing_resource_is_an_error_before_any_data_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    composed = compose("fine-tune", tasks="demo", model="demo", attacks=["textfooler"], sets="attack.attacks.textfooler.encoder=/nowhere")
    monkeypatch.setattr("ticketlab.tasks.demo.reviews.DemoTask.load", lambda _: pytest.fail("data were read"))
    with pytest.raises(ResourceError, match=r"^--attack textfooler: .*sentence encoder `/nowhere` not found.*`--encoder NAME`"):
        run(composed, tmp_path)
    assert not list(tmp_path.iterdir())
