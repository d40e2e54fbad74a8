"""Similarity in the results of the attack stage, whose files do not depend on how the work was distributed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import ticketlab
from ticketlab.attacks.results.record_file import read
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.saving import save
from ticketlab.core.errors import ResourceError
from ticketlab.recipes.recipe import build_recipe
from ticketlab.resources.resources import Resources
from ticketlab.tasks.demo.reviews import DemoTask

needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")
DEMO = DemoTask(rows=40, dev_rows=8, test_rows=24)


@pytest.fixture(scope="module")
def model(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier with random weights that answers differently to different texts, so that it can be fooled."""
    made, tokenizer = load_classifier(str(tiny["bert"]), ("negative", "positive"), seed=0)
    with torch.no_grad():
        made.classifier.weight.mul_(50)
        answers = made(**tokenizer([example.texts[0] for example in DEMO.load().examples("all")], padding=True, return_tensors="pt")).logits
        made.classifier.bias.sub_(answers.median(dim=0).values)
    return save(made, tokenizer, tmp_path_factory.mktemp("victim") / "model")


@pytest.fixture
def attack(model: Path, tmp_path: Path) -> Callable[..., tuple[dict[str, Any], Path]]:
    """Run the stage; return its result and its file of records."""

    def attack(lab: str = "lab", **settings: Any) -> tuple[dict[str, Any], Path]:
        stage = {"kind": "attack", "model": str(model), "examples": 12, "in_flight": 8, "workers": 1, **settings}
        table = {"tasks": [DEMO], "max_length": 48, "precision": "fp32", "attack": stage}
        done = ticketlab.run(build_recipe("attack", table), tmp_path / lab)
        found = done.results["tasks"]["demo"]["0"]["attack"]
        return found, tmp_path / lab / "stages" / found["key"][:2] / found["key"] / "records" / "deepwordbug.jsonl"

    return attack


@needs_textattack
def test_the_result_has_the_similarity_of_the_texts_and_the_encoder(attack: Any, tiny: dict[str, Path]) -> None:
    folder = str(tiny["roberta"])
    found, file = attack(similarity=folder)
    numbers = found["attacks"]["deepwordbug"]
    _, rows = read(file)
    successes = [row for row in rows if row.status == "success"]
    assert successes
    encoder = Resources(encoder=folder).load_encoder()
    one_by_one = [
        float(torch.cosine_similarity(encoder.encode(row.original).double(), encoder.encode(row.perturbed).double())) for row in successes
    ]
    assert numbers["similarity"] == pytest.approx(sum(one_by_one) / len(one_by_one), abs=1e-9)
    assert numbers["similarity_of"]["n"] == len(successes)
    assert [row.similarity for row in successes] == pytest.approx(one_by_one, abs=1e-9)
    assert all(row.similarity is None for row in rows if row.status != "success")
    assert numbers["similarity_encoder"] == folder


@needs_textattack
def test_without_an_encoder_there_is_no_similarity(attack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    named, _ = attack(similarity="none")
    monkeypatch.setattr("ticketlab.resources.resources.ENCODER_PACKAGES", {})
    found, _ = attack(lab="other")  # auto, without an installed encoder
    for numbers in (named["attacks"]["deepwordbug"], found["attacks"]["deepwordbug"]):
        assert (numbers["similarity"], numbers["similarity_of"]["n"], numbers["similarity_encoder"]) == (None, 0, None)
        assert numbers["queries"] is not None


@needs_textattack
def test_the_encoder_is_part_of_the_key(attack: Any, tiny: dict[str, Path]) -> None:
    keys = {attack(similarity=encoder)[0]["key"] for encoder in ("none", str(tiny["roberta"]), str(tiny["electra"]))}
    assert len(keys) == 3


@needs_textattack
def test_a_missing_encoder_is_an_error_before_anything_runs(attack: Any, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="sentence encoder `nowhere` not found"):
        attack(similarity="nowhere")
    assert not (tmp_path / "lab").exists()


@needs_textattack
def test_record_files_do_not_depend_on_how_the_work_is_distributed(attack: Any, tiny: dict[str, Path]) -> None:
    files = {
        attack(lab=f"{in_flight}-{workers}", similarity=str(tiny["roberta"]), in_flight=in_flight, workers=workers)[1].read_bytes()
        for in_flight, workers in ((1, 1), (64, 1), (3, 2))
    }
    assert len(files) == 1
    header, *rows = files.pop().decode().splitlines()
    assert len(rows) == 12
    assert '"sample": {"split": "test", "size": 12, "seed": 0}' in header
    assert "in_flight" not in header
