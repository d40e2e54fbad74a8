"""What a family does not support is refused before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, AutoModel

from ticketlab.backbone.loading import load_tokenizer, save
from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.recipes import recipe
from ticketlab.runs.run import run
from ticketlab.tasks.demo.reviews import DemoTask

FAMILIES = Path(__file__).parents[1] / "third_party" / "families.py"
STAGES: dict[str, Any] = {
    "search": {"kind": "search", "pruner": {"name": "random", "structured": True}},
    "draw": {"kind": "draw", "heads": 0.5, "neurons": 0.5},
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 1},
}


def make(model: Path, **changes: Any) -> recipe.Recipe:
    table = {name: stage | changes.get(name, {}) for name, stage in STAGES.items()}
    if "export" in changes:
        table["export"] = {"kind": "export", "model": "retrain", "ticket": "draw", **changes["export"]}
    table |= {"model": str(model), "max_length": 24, "precision": "fp32"}
    return recipe.build_recipe("r", table | {"tasks": [DemoTask(rows=16, dev_rows=8, test_rows=8)]})


@pytest.fixture
def megatron(tiny: dict[str, Path], tmp_path: Path) -> Path:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 3, "vocab_size": 454}
    model = AutoModel.from_config(AutoConfig.for_model("megatron-bert", **sizes, max_position_embeddings=64))
    return save(model, load_tokenizer(str(tiny["bert"])), tmp_path / "megatron")


def refused(made: recipe.Recipe, lab: Path, message: str) -> None:
    with registry.using(registry.load([FAMILIES], entry_points=False)), pytest.raises(UsageError, match=message) as caught:
        run(made, lab)
    assert "\n" not in str(caught.value)
    assert not list(lab.glob("stages/*"))


def test_a_ticket_that_cannot_be_cut_out_is_refused_before_the_search(megatron: Path, tmp_path: Path) -> None:
    refused(make(megatron), tmp_path / "lab", "retrain: the adapter `megatron` names no attention module, so its models cannot be shrunk")


def test_an_export_that_cannot_shrink_is_refused_too(megatron: Path, tmp_path: Path) -> None:
    made = make(megatron, retrain={"shrink": False}, export={"format": "shrunk"})
    refused(made, tmp_path / "lab", "export: the adapter `megatron` names no attention module")


def test_held_at_zero_the_same_family_is_trained_and_exported(megatron: Path, tmp_path: Path) -> None:
    with registry.using(registry.load([FAMILIES], entry_points=False)):
        done = run(make(megatron, retrain={"shrink": False}, export={"format": "dense"}), tmp_path / "lab")
    assert (done.directory / "results.json").is_file()


def test_masked_words_are_refused_where_the_family_has_no_head_for_them(tiny: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a good film\n")
    made = make(tiny["gpt2"], retrain={"objective": {"name": "mlm", "text": str(tmp_path / "text.txt")}})
    refused(made, tmp_path / "lab", "retrain.objective: `gpt2` models have no masked-language-model head")
