"""The results of an attack on disk."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner
from support.misbehaving_attack import NAMES, TEXTS, needs_textattack

from ticketlab.cli.main import cli
from ticketlab.core import registry


@pytest.fixture
def folder(tmp_path, make_model, tokenizer):
    model = make_model()
    model.config.id2label, model.config.label2id = dict(enumerate(NAMES)), {name: index for index, name in enumerate(NAMES)}
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@needs_textattack
def test_results_are_on_disk_and_a_mean_over_no_examples_is_null(folder, victim, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_current", None)
    wrong = [{"text": text, "label": NAMES[1 - int(victim([text]).argmax())]} for text in [*TEXTS, *(f"{text} movie" for text in TEXTS)]]
    task = tmp_path / "rows.jsonl"
    task.write_text("".join(f"{json.dumps(row)}\n" for row in wrong), encoding="utf-8")
    common = ["--task", task, "--attack", "deepwordbug", "--split", "all", "--max-length", "64", "--lab", tmp_path / "lab"]
    arguments = ["attack", folder, *common, "--csv", tmp_path / "numbers.csv"]
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")
    assert result.exit_code == 0, result.stderr
    (written,) = (tmp_path / "lab" / "runs").glob("*/results.json")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(written.read_text(encoding="utf-8"), parse_constant=refuse)["tasks"]["rows"]["0"]["attack"]["attacks"]["deepwordbug"]
    assert (found["n"], found["skipped"], found["clean"], found["aua"]) == (len(wrong), len(wrong), 0.0, 0.0)
    assert (found["suc"], found["queries"], found["words_changed"]) == (None, None, None)
    assert "deepwordbug" in (tmp_path / "numbers.csv").read_text(encoding="utf-8")
    shown = [
        result.stdout,
        *(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*") if file.suffix in (".json", ".jsonl", ".csv")),
    ]
    assert not [text for text in shown if re.search(r"\bnan\b", text.replace("tokenizer", ""), re.IGNORECASE) and "vocab" not in text]
