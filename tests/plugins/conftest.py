from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ticketlab import registry
from ticketlab.cli.main import cli

ROOT = Path(__file__).parents[2]
Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "_current", None)
    monkeypatch.delenv("TICKETLAB_STRICT_PLUGINS", raising=False)
    monkeypatch.setenv("TICKETLAB_LAB", str(tmp_path / "lab"))


@pytest.fixture
def invoke() -> Invoke:
    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")

    return call


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A csv of sixty reviews."""
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
    """The options of a run of a moment."""
    stages = ("finetune", "retrain")
    epochs = [option for stage in stages for option in ("--set", f"{stage}.epochs=1")]
    return ["--model", str(tiny["bert"]), "--task", str(reviews), "--attack", "none", *epochs]
