from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_encoder, load_finished
from ticketlab.lab.layout import stage_folder
from ticketlab.runs.run import run
from ticketlab.tickets.comparison import overlap
from ticketlab.tickets.ticket import Ticket


@pytest.fixture
def masks(tmp_path: Path, tiny: dict[str, Path]) -> Path:
    """Masks of all matrices but one, called as another library would."""
    backbone = Backbone(load_encoder(str(tiny["bert"])))
    generator = torch.Generator().manual_seed(0)
    matrices = [name.removeprefix("weights/").removesuffix(".weight") for name in backbone.units() if name.startswith("weights/")]
    found = {
        f"net.{path}.mask": torch.rand(backbone.weight(f"weights/{path}.weight").shape, generator=generator) > 0.5 for path in matrices
    }
    save_file(dict(list(found.items())[1:]), tmp_path / "theirs.safetensors")
    return tmp_path / "theirs.safetensors"


def test_a_ticket_is_made_of_masks_and_works_in_the_other_commands(invoke: Any, masks: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    out, model = tmp_path / "ours", str(tiny["bert"])
    result = invoke("ticket", "import", masks, "--model", model, "--map", "net.*.mask=bert.*.weight", "--out", out)
    assert result.exit_code == 0, result.stderr
    ticket = Ticket.load(out / "ticket.safetensors")
    first = "weights/encoder.layer.0.attention.self.query.weight"
    assert f"has no mask of {first}: kept whole" in result.stderr
    assert f"keeps {ticket.counts()}" in result.stderr
    info = json.loads(invoke("ticket", "info", out, "--json").stdout)
    provenance = {"imported": True, "kept_whole": [first], "file_sha256": hashlib.sha256(masks.read_bytes()).hexdigest()}
    assert info["provenance"] == {
        **provenance,
        "imported_from": "theirs.safetensors",
        "heads_per_layer": info["provenance"]["heads_per_layer"],
    }
    classifier, tokenizer = load_classifier(model, ("negative", "positive"), 0)
    classifier.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    for command in (
        ("apply", out, tmp_path / "model", "--out", tmp_path / "applied"),
        ("export", tmp_path / "model", "--ticket", out, "--format", "dense", "--out", tmp_path / "exported"),
    ):
        done = invoke("ticket", *command)
        assert done.exit_code == 0, done.stderr
        assert "other weights" not in done.stderr
    zeros = Backbone(load_classifier(str(tmp_path / "applied"), ("negative", "positive"), 0)[0])
    assert ticket.is_applied(zeros)


def test_the_same_file_gives_the_same_bytes_and_out_may_be_a_file(
    invoke: Any, masks: Path, tiny: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("ticket", "import", masks, "--model", tiny["bert"], "--map", "net.*.mask=*")
    assert invoke(*command).exit_code == 0
    assert invoke(*command, "--out", tmp_path / "t.safetensors").exit_code == 0
    assert (tmp_path / "t.safetensors").read_bytes() == (tmp_path / "theirs-ticket" / "ticket.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "theirs.safetensors: the model has no parameter or unit called `net.encoder"),
        (["--map", "mask=weight"], "--map mask=weight: no mask has such a name"),
        (["--map", "net.*.mask=*", "--out", "theirs.safetensors"], "is FILE itself"),
    ],
    ids=["unknown names", "a rule without a match", "over the file"],
)
def test_mistakes_are_one_line(
    invoke: Any, masks: Path, tiny: dict[str, Path], options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("ticket", "import", masks, "--model", tiny["bert"], *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.safetensors"]


def test_recipes_train_and_evaluate_an_imported_ticket_and_draw_others_like_it(
    invoke: Any, masks: Path, tiny: dict[str, Path], tmp_path: Path, make_recipe: Any
) -> None:
    file = tmp_path / "ours" / "ticket.safetensors"
    assert invoke("ticket", "import", masks, "--model", tiny["bert"], "--map", "net.*.mask=*", "--out", file.parent).exit_code == 0
    done = run(
        make_recipe(f"retrain.ticket={file}", "retrain.epochs=1", without=("finetune", "search", "draw", "attack")), tmp_path / "lab"
    )
    stages, ticket = done.stages(), Ticket.load(file)
    assert stages["retrain"]["train"]["sparsity"] == {"weights": ticket.sparsity()}
    assert "warnings" not in stages["retrain"]
    assert 0 <= done.metrics()["accuracy"] <= 1
    trained, *_ = load_finished(str(stage_folder(tmp_path / "lab", stages["retrain"]["key"]) / "model"))
    assert ticket.is_applied(Backbone(trained))
    like = make_recipe(
        "search.pruner=random", "search.start=pretrained", f"draw.like={file}", without=("finetune", "retrain", "evaluate", "attack")
    )
    drawn = Ticket.load(next((run(like, tmp_path / "lab").directory / "tickets").iterdir()))
    assert drawn.survival() == ticket.survival()
    assert 0 < overlap(drawn.masks, ticket.masks)["weights"].jaccard < 1


def test_info_shows_the_beginning_of_a_long_list(invoke: Any, tiny: dict[str, Path], tmp_path: Path) -> None:
    backbone = Backbone(load_encoder(str(tiny["bert"])))
    first, *others = (name for name in backbone.units() if name.startswith("weights/"))
    save_file({first: torch.ones(backbone.units()[first])}, tmp_path / "one.safetensors")
    imported = invoke("ticket", "import", tmp_path / "one.safetensors", "--model", tiny["bert"], "--out", tmp_path / "ours")
    more = f"{', '.join(others[:4])} and {len(others) - 4} more"
    assert f"has no mask of {more}: kept whole" in imported.stderr
    assert f"kept_whole: {more}" in " ".join(invoke("ticket", "info", tmp_path / "ours").stdout.split())
