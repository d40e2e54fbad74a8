"""A run on a task with an injected shortcut: from the data to the results."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from attrs import evolve

from ticketlab.report.notes import notes
from ticketlab.runs.run import run
from ticketlab.tasks.demo.reviews import DemoTask


@pytest.mark.slow
def test_a_model_that_learns_the_shortcut_fails_where_the_markers_are_at_chance(make_recipe, tmp_path, invoke) -> None:
    sets = ("finetune.epochs=6", "finetune.lr=0.003", "evaluate.model=finetune")
    recipe = make_recipe(*sets, without=("search", "draw", "retrain", "attack"))
    done = run(evolve(recipe, tasks=(DemoTask(rows=96, dev_rows=12, test_rows=60, shortcut=1.0),)), tmp_path)
    stages = done.results["tasks"]["demo"]["0"]
    inside, outside = stages["evaluate"]["clean"]["accuracy"], stages["evaluate"]["ood"]["demo_at_chance"]["accuracy"]
    assert inside == 1.0
    assert abs(outside - 0.5) <= 0.2
    about = done.results["data"]
    assert about["demo"]["shortcut"]["agreement"] == {"train": 1.0, "dev": 1.0, "test": 1.0}
    assert about["demo_at_chance"]["shortcut"] | {"markers": None} == {
        "rate": None, "column": "text", "markers": None, "agreement": {"test": 0.5},
    }  # fmt: skip
    assert any(note.startswith("demo: an injected shortcut (rate 1)") for note in notes(done.results))
    shown = invoke("lab", "show", done.directory, "--lab", tmp_path).stdout
    assert "injected markers before text at the rate 1" in " ".join(shown.split())
    (file,) = tmp_path.rglob("predictions.parquet")
    rows = pq.read_table(file).to_pylist()
    ids = {name: [row["id"] for row in rows if row["set"] == name] for name in ("", "demo_at_chance")}
    assert ids[""] == ids["demo_at_chance"]
    assert len(ids[""]) == 60
