import pytest
import torch
from support.charts import data, subtitle
from support.hand_made import cell, comparison, results
from support.hand_made_lab import cell_with_tickets, move_away

from ticketlab.core.errors import UsageError
from ticketlab.figures import survival
from ticketlab.lab.layout import TICKET, TICKETS, stage_folder

CONFIG = {"model_type": "bert", "num_attention_heads": 2}


def structured(first_head, neurons):
    return {"heads/0": torch.tensor([first_head, True]), "neurons/0": torch.arange(4) < neurons}


def of_weights(rows):
    """A layer of width 4 whose query matrix keeps this many rows; the other matrices keep everything."""
    shapes = {
        **dict.fromkeys(("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"), (4, 4)),
        **{"intermediate.dense": (6, 4), "output.dense": (4, 6)},
    }
    masks = {f"weights/encoder.layer.0.{name}.weight": torch.ones(shape, dtype=torch.bool) for name, shape in shapes.items()}
    masks["weights/encoder.layer.0.attention.self.query.weight"][rows:] = False
    return masks


def tiles(chart):
    return {(row["panel"], row["row"], row["column"]): row["value"] for row in data(chart, "column", "value")}


def test_tiles_are_the_kept_percentages_over_seeds(tmp_path):
    own = cell_with_tickets(tmp_path, {"model": "bert"}, [structured(True, 1), structured(False, 3)])
    chart = survival(comparison([own]))
    assert tiles(chart) == {("bert", "1", "1"): 50, ("bert", "1", "2"): 100, ("bert", "1", "FFN"): 50}  # 1 and 3 of 4 neurons
    assert "mean of 2 seeds" in subtitle(chart)


def test_each_cell_has_a_panel_and_those_without_a_ticket_are_named(tmp_path):
    cells = [cell_with_tickets(tmp_path, {"model": name}, [structured(True, 2)]) for name in ("bert", "roberta")]
    chart = survival(comparison([*cells, cell({"model": "dense"}, results({"sst2": [{}]}))]))
    assert {panel for panel, _, _ in tiles(chart)} == {"bert", "roberta"}
    assert "Without a ticket: 1 cell (dense)" in subtitle(chart)


def test_heads_of_a_ticket_of_weights_are_told_apart_if_a_model_is_in_the_lab(tmp_path):
    known = cell_with_tickets(tmp_path, {"model": "known"}, [of_weights(2)], config=CONFIG)
    found = tiles(survival(comparison([known])))
    assert found == {
        ("known", "1", "1"): 100,
        ("known", "1", "2"): 75,
        ("known", "1", "FFN"): 100,
    }  # 8 of 32 weights are removed


def test_without_a_model_the_attention_is_one_tile_and_the_subtitle_says_so(tmp_path):
    unknown = cell_with_tickets(tmp_path, {"model": "unknown"}, [of_weights(2)])
    chart = survival(comparison([unknown]))
    assert tiles(chart) == {("unknown", "1", "attention"): 87.5, ("unknown", "1", "FFN"): 100}  # 8 of 64 weights are removed
    assert "Heads are not shown apart for unknown: no model of the run is in the lab" in subtitle(chart)


def test_a_ticket_that_seeds_share_counts_once(tmp_path):
    own = cell_with_tickets(tmp_path, {"model": "bert"}, [structured(True, 1)])
    own.results["tasks"]["sst2"]["1"] = own.results["tasks"]["sst2"]["0"]
    assert "one seed" in subtitle(survival(comparison([own])))


def test_tickets_of_a_lab_at_a_url_are_fetched(tmp_path, monkeypatch):
    own = cell_with_tickets(tmp_path, {"model": "bert"}, [structured(True, 1)])
    move_away(stage_folder(tmp_path, "bert-draw-0") / TICKET, monkeypatch)
    assert tiles(survival(comparison([own])))["bert", "1", "FFN"] == 25


def test_the_copy_in_the_run_replaces_a_stage_that_is_gone(tmp_path):
    own = cell_with_tickets(tmp_path, {"model": "bert"}, [structured(True, 1)])
    original = stage_folder(tmp_path, "bert-draw-0") / TICKET
    (own.folder / TICKETS).mkdir(parents=True)
    original.rename(own.folder / TICKETS / "sst2-draw-seed0.safetensors")
    assert tiles(survival(comparison([own])))["bert", "1", "FFN"] == 25
    (own.folder / TICKETS / "sst2-draw-seed0.safetensors").unlink()
    with pytest.raises(UsageError, match=r"the ticket of `draw` \(sst2, seed 0\) is no longer in the lab"):
        survival(comparison([own]))


def test_runs_without_tickets_are_refused():
    with pytest.raises(UsageError, match="stage: no finished cell has a ticket"):
        survival(comparison([cell({"model": "dense"}, results({"sst2": [{}]}))]))
