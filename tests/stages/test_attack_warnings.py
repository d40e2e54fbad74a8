"""The attack stage warns about numbers that mean little, stores the warnings, and repeats them when it is found in the lab."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

import ticketlab
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.saving import save
from ticketlab.recipes.recipe import build_recipe
from ticketlab.report.notes import notes
from ticketlab.tasks.datasets.lookup import find_task

needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")


@needs_textattack
def test_an_attack_without_candidates_on_a_constant_model_gives_warnings(
    tiny: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, tokenizer = load_classifier(str(tiny["bert"]), ("neg", "pos"), seed=0)
    with torch.no_grad():
        made.classifier.weight.zero_()
        made.classifier.bias.copy_(torch.tensor([5.0, 0.0]))
    model = save(made, tokenizer, tmp_path / "model")
    texts = [
        f"{first} {second},{'pos' if (first, second) in (('b', 'q'), ('c', 'r')) else 'neg'}" for first in "bcfghjkl" for second in "qrvwx"
    ]
    (tmp_path / "data").mkdir()
    for split, part in (("train", texts[:20]), ("test", [*texts, "b q " * 40 + ",neg"])):
        (tmp_path / "data" / f"{split}.csv").write_text("\n".join(["text,label", *part, ""]), encoding="utf-8")
    stage = {"kind": "attack", "model": str(model), "examples": None, "similarity": "none", "workers": 1}
    table = {"tasks": [find_task(str(tmp_path / "data"))], "max_length": 16, "precision": "fp32", "attack": stage}
    recipe = build_recipe("attack", table)
    results = ticketlab.run(recipe, tmp_path / "lab").results
    ((seeds),) = results["tasks"].values()
    found = seeds["0"]["attack"]
    assert found["sample"]["labels"] == {"neg": 39, "pos": 2}
    assert [line.split(":")[0].split(";")[0] for line in found["warnings"]] == [
        "few examples of `pos` are in the sample (39 neg, 2 pos)",
        "the model predicts `neg` for every example of the sample",
        "deepwordbug had no candidate for any word of 39 attacked examples, so Aua says nothing about robustness",
    ]
    assert found["attacks"]["deepwordbug"]["replaceable_words_of"] == {"count": 0, "total": 38 * 2 + 14}
    assert found["attacks"]["deepwordbug"]["unseen_words_of"]["count"] == 80 - 14
    assert len([note for note in notes(results) if note.startswith("data, attack: ")]) == 3
    capsys.readouterr()
    again = ticketlab.run(recipe, tmp_path / "lab").results
    assert capsys.readouterr().err.count("warning: data seed 0 attack: ") == 3
    assert again["tasks"] == results["tasks"]
