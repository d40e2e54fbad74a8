"""The commands of ``ticketlab lab`` on labs made of files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import click
import pytest
from support.fake_lab import data_set, fake_run, fake_stage, key, measured

from ticketlab.core import files
from ticketlab.lab.active_runs import registered

RECIPE = """
model = "bert"
seeds = [0]
max_length = 128

[[tasks]]
name = "local"
path = "data/reviews"

[search]
kind = "search"
epochs = 4.0

[search.pruner]
name = "{}"
{} = 0.5
"""
Invoke = Callable[..., Any]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two finished runs of one recipe on other data and samples, an interrupted one, and a stage that nothing needs."""
    monkeypatch.chdir(tmp_path)
    lab = Path("lab")
    one, two = measured("a", 0.5, 0.25), measured("b", 0.75, 0.5)
    two["attack"]["sample"] = {"split": "test", "size": 30, "seed": 0}
    fake_run(
        lab, "robust-ticket-sst2-1111111111", {"sst2": {0: one}}, recipe="robust-ticket", age=120, toml=RECIPE.format("magnitude", "x")
    )
    fake_run(
        lab, "mine", {"sst2": {0: two, 1: two}}, recipe="robust-ticket", differs="sparsity=0.5, pruner=imp", age=60,
        toml=RECIPE.format("imp", "y"), data={"sst2": data_set("another")},
    )  # fmt: skip
    fake_run(lab, "fine-tune-sst2-2222222222", {"sst2": {0: measured("c", 0.9)}}, finished=False)
    fake_stage(lab, "zz", {"model/weights": 1000})
    return lab


def test_ls_lists_runs(invoke: Invoke, lab: Path) -> None:
    text = invoke("lab", "ls").stdout
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    assert lines[1][0] == "Run"
    assert lines[3][:2] == ["222222", "fine-tune"]
    assert "unfinished" in lines[3]
    assert lines[4][:6] == ["mine", "robust-ticket: sparsity=0.5, pruner=imp", "-", "sst2", "0,1", "75.0"]  # the seeds share a measurement
    assert lines[5][:7] == ["111111", "robust-ticket", "-", "sst2", "0", "50.0", "25.0"]
    assert [len(line) for line in lines[3:6]] == [9, 9, 9]
    found = json.loads(invoke("lab", "ls", "imp", "--json").stdout)
    assert [run["name"] for run in found["runs"]] == ["mine"]
    assert found["runs"][0]["numbers"][0]["aua"] == {"mean": 0.5, "deviation": None}
    assert found["studies"] == []


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_ls_truncates_nothing(invoke: Invoke, lab: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticketlab.cli.output.WIDTH_WITHOUT_TERMINAL", width)
    text = invoke("lab", "ls").stdout
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for shown in ("222222", "mine", "sparsity=0.5", "75.0", "unfinished"):
        assert shown in text


def test_ls_says_why_there_is_nothing(invoke: Invoke, lab: Path) -> None:
    assert "lab: no runs match" in invoke("lab", "ls", "zzz").stderr
    assert "nowhere: no lab here (use --lab for another folder)" in invoke("lab", "ls", "--lab", "nowhere").stderr
    assert "1 of 3 runs" in invoke("lab", "ls", "--unfinished").stderr


def test_ls_lists_studies(invoke: Invoke, lab: Path) -> None:
    cells = [{"run": "mine", "error": ""}, {"run": None, "error": "no memory"}]
    factors = [{"name": "sparsity", "levels": ["0.1", "0.3"]}]
    study = lab / "studies" / "sweep-3333333333"
    files.write_json(study / "study.json", {"study": "sweep", "summary": "sparsity of everything", "factors": factors, "cells": cells})
    text = invoke("lab", "ls").stdout
    assert "sweep-3333333333" in text
    assert "sparsity of everything" in text
    assert "sparsity x 2" in text
    assert "1/2, 1 failed" in text
    assert invoke("lab", "rm", "sweep-3333333333", "--yes").exit_code == 0
    assert not study.exists()


def test_user_text_is_escaped(invoke: Invoke, lab: Path) -> None:
    evil = "x\x1b[31m[bold]\u202e"
    fake_run(lab, "evil-4444444444", {evil: {0: measured("e", 0.5)}}, recipe=evil, differs=evil)
    for arguments in (["ls"], ["show", "4444"], ["diff", "4444", "mine"]):
        result = invoke("lab", *arguments)
        assert result.exit_code == 0, result.stderr
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output
    assert "[bold]" in invoke("lab", "ls").stdout


def test_show_has_everything_on_one_screen(invoke: Invoke, lab: Path) -> None:
    log = lab / "runs" / "mine" / "log.jsonl"
    log.write_text(f'{{"event": "start", "stage": "finetune", "key": "{key("bt")}"}}\n', encoding="utf-8")
    text = invoke("lab", "show", "mine").stdout
    for shown in (
        "what differs  sparsity=0.5, pruner=imp", "9 train, 3 dev, 80 test; texts from text; labels a, b", "seeds         0,1", "75.0",
        "finetune (train)", "results.json", "robust-ticket (sparsity=0.5, pruner=imp)",
    ):  # fmt: skip
        assert shown in text
    computed, *_ = [line.split() for line in text.splitlines() if key("bt")[:10] in line and line.rstrip().endswith("computed")]
    assert computed[:5] == ["0", "finetune", "(train)", key("bt")[:10], "2.5"]
    assert "found in the lab" in text
    found = json.loads(invoke("lab", "show", "mine", "--json").stdout)
    assert {stage["origin"] for stage in found["stages"]} == {"computed", "found"}
    assert found["results"]["run"] == "mine"


def test_show_of_an_unfinished_and_of_a_damaged_run(invoke: Invoke, lab: Path) -> None:
    text = " ".join(invoke("lab", "show", "2222").stdout.split())
    assert "unfinished, last changed" in text
    assert "2 of 2 stages in the lab; its command resumes it" in text
    (lab / "runs" / "mine" / "results.json").write_text("{", encoding="utf-8")
    damaged = invoke("lab", "show", "mine")
    assert damaged.exit_code == 0
    assert "damaged, last changed" in damaged.stdout
    assert "not the results of a run, or damaged" in damaged.stderr


def test_diff_shows_settings_numbers_and_what_was_measured_differently(invoke: Invoke, lab: Path) -> None:
    text = invoke("lab", "diff", "1111", "mine").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["search.pruner.name", "magnitude", "imp"] in lines
    assert ["search.pruner.x", "0.5", "-"] in lines
    assert ["clean.accuracy", "%", "50.0", "75.0", "+25.0"] in lines
    assert ["attack.pwws.aua", "%", "25.0", "50.0", "+25.0"] in lines
    assert "Note: sst2: the data differ (both have 9 train, 3 dev, 80 test, but other texts, labels or columns)" in text
    assert "Note: the means are over other seeds: 0, and 0,1" in text
    assert "Note: sst2, pwws: other examples were attacked: 20 of test (sample seed 0), and 30 of test (sample seed 0)" in text
    found = json.loads(invoke("lab", "diff", "1111", "mine", "--json").stdout)
    assert found["settings"]["search.pruner.name"] == ["magnitude", "imp"]
    assert [number["difference"] for number in found["numbers"] if number["metric"] == "clean.accuracy"] == [0.25]
    assert len(found["notes"]) == 3


def test_diff_of_a_run_with_itself_and_with_an_unfinished_one(invoke: Invoke, lab: Path) -> None:
    same = invoke("lab", "diff", "mine", "mine")
    assert "all settings are the same" in same.stderr
    assert "all numbers are the same" in same.stderr
    assert "Note: fine-tune-sst2-2222222222 has no results yet" in invoke("lab", "diff", "mine", "2222").stdout


def test_rm_asks_and_gc_then_frees_the_stages(invoke: Invoke, lab: Path) -> None:
    refused = invoke("lab", "rm", "mine")
    assert refused.exit_code == 2
    assert "the question cannot be answered; --yes skips it" in refused.stderr
    assert (lab / "runs" / "mine").is_dir()
    dry = json.loads(invoke("lab", "gc", "--dry-run", "--json").stdout)
    assert [stage["key"] for stage in dry["unneeded"]] == [key("zz")]
    removed = invoke("lab", "rm", "mine", "--yes")
    assert "mine: robust-ticket (sparsity=0.5, pruner=imp) on sst2, finished" in removed.stderr
    assert "`ticketlab lab gc` frees" in removed.stderr
    assert not (lab / "runs" / "mine").exists()
    collected = json.loads(invoke("lab", "gc", "--yes", "--json").stdout)
    assert set(collected["removed"]) == {key("zz"), key("bt"), key("be"), key("ba")}
    assert "every stage is needed" in invoke("lab", "gc", "--yes").stderr
    assert invoke("lab", "show", "1111").exit_code == 0


def test_gc_of_a_read_only_lab_lists_what_it_would_remove(invoke: Invoke, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticketlab.notebook.removal.is_read_only", lambda folder, root: True)
    listed = invoke("lab", "gc", "--dry-run")
    assert (listed.exit_code, "1 stage" in listed.stderr) == (0, True)
    refused = invoke("lab", "gc", "--yes")
    assert refused.exit_code == 2
    assert "the lab is read-only; run this where it can be written, or name another lab (--lab)" in refused.stderr


def test_a_run_that_is_named_twice_is_removed_once(invoke: Invoke, lab: Path) -> None:
    result = invoke("lab", "rm", str((lab / "runs" / "mine").absolute()), "mine", "--yes")
    assert (result.exit_code, "1 run removed" in result.stderr) == (0, True)


@pytest.mark.parametrize(("interruption", "code"), [(EOFError, 0), (KeyboardInterrupt, 130)])
def test_the_question_may_be_interrupted(
    invoke: Invoke, lab: Path, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException], code: int
) -> None:
    monkeypatch.setattr("ticketlab.cli.lab.confirm.sys", mock.Mock(**{"stdin.isatty.return_value": True}))

    def confirm(*_: object, **__: object) -> bool:
        try:
            raise interruption
        except (EOFError, KeyboardInterrupt):
            raise click.Abort from None  # as click does

    monkeypatch.setattr("click.confirm", confirm)
    result = invoke("lab", "rm", "mine")
    assert result.exit_code == code
    assert "internal" not in result.stderr
    assert (lab / "runs" / "mine").is_dir()


def test_show_says_that_a_name_is_that_of_a_study(invoke: Invoke, lab: Path) -> None:
    files.write_json(lab / "studies" / "sweep" / "study.json", {})
    assert invoke("lab", "show", "sweep").stderr == "error: sweep: a study and not a run; `ticketlab report sweep` shows it\n"
    assert "did you mean `sweep`?" in invoke("lab", "show", "swep").stderr


def test_rm_refuses_a_run_in_progress_and_removes_none_of_the_others(invoke: Invoke, lab: Path) -> None:
    (lab / "active").mkdir()
    with registered(lab, "mine", []):
        result = invoke("lab", "rm", "1111", "mine", "--yes")
    assert result.exit_code == 2
    assert "mine: in progress; nothing is removed" in result.stderr
    assert len(list((lab / "runs").iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "mien"], "mien: no such run in lab; did you mean `mine`? (`ticketlab lab ls` lists them; --lab names another lab)"),
        (["rm", "robust-ticket", "--yes"], ""),
        (["rm", "latest", "--yes"], "latest: no such run in lab"),
        (["gc", "--older-than", "soon"], "--older-than soon: not a duration such as 30m, 12h, 2d or 1w"),
        (["gc", "--older-than", "", "--yes"], "--older-than : not a duration"),
        (["ls", "--since", ""], "--since : neither a duration"),
        (["gc", "--lab", "nowhere"], "nowhere: not a lab"),
        (["du", "--lab", "nowhere"], "nowhere: no such folder"),
        (["ls", "--sort", "speed"], "--sort speed: neither age, size, name nor a metric of these runs"),
        (["ls", "--since", "soon"], "--since soon: neither a duration"),
    ],
)
def test_errors_are_one_line(invoke: Invoke, lab: Path, arguments: list[str], message: str) -> None:
    result = invoke("lab", *arguments)
    if message:
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {message}")
        assert result.stderr.count("\n") == 1
    else:
        assert result.exit_code == 0  # the only run that begins like this


def test_du_adds_up(invoke: Invoke, lab: Path) -> None:
    found = json.loads(invoke("lab", "du", "--json").stdout)
    everything = sum(path.stat().st_size for path in lab.rglob("*") if path.is_file())
    assert found["total"] == sum(found["kinds"].values()) == everything
    assert found["kinds"]["models"] == 1000
    stages = sum(path.stat().st_size for path in (lab / "stages").rglob("*") if path.is_file())
    assert found["stages_without_run"] + sum(run["own"] + run["shared"] for run in found["runs"]) == stages
    text = invoke("lab", "du").stdout
    assert "models" in text
    assert "mine" in text
