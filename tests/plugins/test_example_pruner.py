"""The pruner in examples/, loaded with ``--plugin``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab import Ticket
from ticketlab.backbone.loading import load_classifier
from ticketlab.core import registry
from ticketlab.plugin import TrainingPlan, draw

FILE = Path(__file__).parents[2] / "examples" / "layer_magnitude.py"


def shares(weight: torch.Tensor, power: float = 2.0) -> torch.Tensor:
    cls: Any = registry.load([FILE]).get("pruner", "layer-magnitude")
    return torch.Tensor(vars(sys.modules[cls.__module__])["shares"](weight, power))


@pytest.mark.parametrize(
    ("weight", "power", "expected"),
    [
        pytest.param([[3.0, -4.0]], 2.0, [[9 / 25, 1.0]], id="two weights"),
        pytest.param([[1.0], [-2.0], [2.0]], 2.0, [[1 / 9], [4 / 8], [1.0]], id="of equal weights the later counts as larger"),
        pytest.param([[1.0, 3.0]], 1.0, [[1 / 4, 1.0]], id="another power"),
        pytest.param([[0.0, 0.0]], 2.0, [[0.0, 0.0]], id="all zero"),
    ],
)
def test_a_score_is_the_share_of_weights_at_least_as_large(weight: list[list[float]], power: float, expected: list[list[float]]) -> None:
    assert torch.allclose(shares(torch.tensor(weight), power), torch.tensor(expected))


def test_no_matrix_is_emptied(tiny: dict[str, Path]) -> None:
    model, _ = load_classifier(str(tiny["bert"]), ("no", "yes"), seed=0)
    cls: Any = registry.load([FILE]).get("pruner", "layer-magnitude")
    masks = draw(cls().begin(TrainingPlan(model, steps=0, seed=0)).scores(), 0.99)
    assert all(bool(mask.any()) for mask in masks.values())


def test_the_example_is_short() -> None:
    code = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(code) <= 50


def test_the_pruner_is_listed_and_shown(invoke: Any) -> None:
    listed = json.loads(invoke("plugins", "--json", "--plugin", FILE).stdout)
    assert ("layer-magnitude", str(FILE)) in [(one["name"], one["source"]) for one in listed["components"]]
    shown = json.loads(invoke("show", "pruner", "layer-magnitude", "--json", "--plugin", FILE).stdout)
    assert [setting["name"] for setting in shown["settings"]] == ["power", "pooler"]


def test_the_pruner_finds_a_ticket(invoke: Any, quick: list[str], tmp_path: Path) -> None:
    arguments = ["--plugin", FILE, "--pruner", "layer-magnitude", "--set", "search.pruner.power=1.5", "--sparsity", "0.5"]
    result = invoke("run", "ticket", *arguments, *quick)
    assert result.exit_code == 0, result.stderr
    (path,) = (tmp_path / "lab" / "runs").glob("ticket-*/tickets/*.safetensors")
    ticket = Ticket.load(path)
    assert ticket.provenance["pruner"] == "layer-magnitude"
    assert ticket.sparsity() == pytest.approx(0.5, abs=1e-4)
    recipe = (path.parents[1] / "recipe.toml").read_text(encoding="utf-8")
    assert 'name = "layer-magnitude"\npower = 1.5' in recipe


def test_an_unknown_setting_is_an_error_with_the_nearest_name(invoke: Any) -> None:
    result = invoke("run", "--task", "demo", "--plugin", FILE, "--pruner", "layer-magnitude", "--set", "search.pruner.powr=1", "--dry-run")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: search.pruner.powr: pruner `layer-magnitude` has no such setting; did you mean `power`?")
