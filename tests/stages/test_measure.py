"""The measure stage: what it times and counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ticketlab.backbone.device import threads
from ticketlab.backbone.loading import load_finished
from ticketlab.core.errors import SettingError
from ticketlab.recipes import recipe
from ticketlab.report.metric_text import metric_text
from ticketlab.report.notes import notes
from ticketlab.report.rows import result_rows
from ticketlab.runs.run import run
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.training.latency import WARM_UP, seconds_per_pass


class Recorder(nn.Module):
    """A model that records the shapes of its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.seen: list[tuple[Any, ...]] = []

    def forward(self, **inputs: Tensor) -> None:
        self.seen.append((sorted(inputs), tuple(inputs["input_ids"].shape), self.training, torch.is_grad_enabled()))


class Words:
    """A tokenizer of six tokens, of which 0 and 1 are special."""

    all_special_ids = (0, 1)
    model_input_names = ("input_ids", "attention_mask")

    def __len__(self) -> int:
        return 6


def test_every_pass_computes_the_whole_batch_after_a_warm_up() -> None:
    model = Recorder()
    seconds = seconds_per_pass(model, Words(), batch_size=3, length=7, repeats=4)
    assert len(seconds) == 4
    assert all(value > 0 for value in seconds)
    assert model.seen == [(["attention_mask", "input_ids"], (3, 7), False, False)] * (WARM_UP + 4)
    assert model.training


def test_threads_are_restored() -> None:
    before = torch.get_num_threads()
    with threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def small(tiny: dict[str, Path], **settings: Any) -> recipe.Recipe:
    table = {"model": str(tiny["bert"]), "precision": "fp32", "tasks": [DemoTask(rows=16, dev_rows=4, test_rows=4)]}
    table |= {"finetune": {"kind": "train", "epochs": 1}, "measure": {"kind": "measure", "model": "finetune", **settings}}
    return recipe.build_recipe("small", table)


def test_a_stage_reports_size_parameters_and_the_median_latency(tiny: dict[str, Path], tmp_path: Path) -> None:
    done = run(small(tiny, repeats=3, length=500, batch_sizes=[2, 5]), tmp_path)
    stage = done.stages()["measure"]
    weights = next(tmp_path.glob("stages/*/*/model/model.safetensors"))
    model, _, _ = load_finished(str(weights.parent))
    passes = {size: sorted(values)[1] for size, values in stage["measure"]["passes"].items()}
    assert stage["numbers"] == {
        "bytes": weights.stat().st_size,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "latency_2": passes["2"],
        "latency_5": passes["5"],
    }
    (row,) = result_rows(done.results)
    assert list(row.numbers) == ["measure.bytes", "measure.parameters", "measure.latency_2", "measure.latency_5"]
    assert "latency: the median of 3 passes of rows of 128 tokens, on the CPU with 1 thread" in notes(done.results)


def test_sizes_of_batches_must_differ(tiny: dict[str, Path]) -> None:
    with pytest.raises(SettingError, match=r"^measure.batch_sizes: must be different from one another, not 4, 4"):
        small(tiny, batch_sizes=[4, 4])


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [("measure.bytes", 90_600_000, "90.60"), ("measure.parameters", 22_700_000, "22.70"), ("measure.latency_32", 0.0123, "12.30")],
)
def test_tables_show_megabytes_millions_and_milliseconds(metric: str, value: float, shown: str) -> None:
    text = metric_text(metric)
    assert text.number(value) == shown
    assert text.better == -1
