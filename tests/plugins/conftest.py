from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

ROOT = Path(__file__).parents[2]
Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_registry(own_registry: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let commands load plugins, and use a lab of this test."""
    monkeypatch.setenv("TICKETLAB_LAB", str(tmp_path / "lab"))


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A csv file of sixty reviews."""
    path = tmp_path / "reviews.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        for number in range(30):
            writer.writerow((f"a wonderful film number {number}", "positive"))
            writer.writerow((f"a terrible film number {number}", "negative"))
    return path


@pytest.fixture
def quick(tiny: dict[str, Path], reviews: Path) -> list[str]:
    """The options of a run that takes seconds."""
    stages = ("finetune", "retrain")
    epochs = [option for stage in stages for option in ("--set", f"{stage}.epochs=1")]
    return ["--model", str(tiny["bert"]), "--task", str(reviews), "--attack", "none", *epochs]
