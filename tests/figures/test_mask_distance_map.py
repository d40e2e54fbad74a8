import pytest
import torch
from support.charts import data, panels, subtitle
from support.hand_made import cell, comparison, results
from support.hand_made_lab import cell_with_masks, move_away

from ticketlab.core.errors import UsageError
from ticketlab.figures import mask_distance
from ticketlab.lab.layout import MASKS, stage_folder


def masks(*heads):
    return {"heads/0": torch.tensor(heads).bool(), "neurons/0": torch.tensor([True, False])}


def tiles(chart):
    return {(row["column"], row["row"]): row["value"] for row in data(chart, "column", "value")}


def test_tiles_are_the_mean_distances_of_all_pairs_of_looks(tmp_path):
    searches = [{10: masks(1, 1, 0, 0), 20: masks(1, 0, 1, 0)}, {10: masks(1, 1, 0, 0), 20: masks(1, 1, 0, 0)}]
    own = cell_with_masks(tmp_path, {"gamma": "0.1"}, searches)
    chart = mask_distance(comparison([own]), group="heads")
    assert tiles(chart) == {("10", "10"): 0, ("20", "20"): 0, ("10", "20"): 25, ("20", "10"): 25}  # 2 of 4 heads, and none
    assert "mean of 2 seeds" in subtitle(chart)


def test_each_group_has_a_panel_and_a_search_that_cells_share_has_one(tmp_path):
    own = cell_with_masks(tmp_path, {"gamma": "0.1"}, [{10: masks(1, 0), 20: masks(0, 1)}])
    again = cell({"gamma": "0.2"}, own.results, folder=own.folder)
    assert list(panels(mask_distance(comparison([own, again])))) == ["heads", "neurons"]


def test_a_search_that_kept_no_masks_is_refused_with_the_setting():
    found = results({"sst2": [{"search": {"kind": "search", "key": "abc", "search": {}}}]})
    with pytest.raises(UsageError, match=r"--set search.keep_masks=looks"):
        mask_distance(comparison([cell({"gamma": "0.1"}, found)]))


def test_masks_of_a_lab_at_a_url_are_fetched(tmp_path, monkeypatch):
    own = cell_with_masks(tmp_path, {"gamma": "0.1"}, [{10: masks(1, 0), 20: masks(0, 1)}])
    move_away(stage_folder(tmp_path, "0.1-search-0") / MASKS, monkeypatch)
    assert list(panels(mask_distance(comparison([own])))) == ["heads", "neurons"]


def test_an_unknown_group_is_refused(tmp_path):
    own = cell_with_masks(tmp_path, {"gamma": "0.1"}, [{10: masks(1, 0), 20: masks(1, 0)}])
    with pytest.raises(UsageError, match="group: no search kept masks of `weights`; they are of heads, neurons"):
        mask_distance(comparison([own]), group="weights")


def test_a_search_of_one_look_has_no_distances(tmp_path):
    with pytest.raises(UsageError, match="kept the masks of one look each"):
        mask_distance(comparison([cell_with_masks(tmp_path, {"gamma": "0.1"}, [{10: masks(1, 0)}])]))
