import pytest
import torch
from support.charts import data, subtitle
from support.hand_made import comparison
from support.hand_made_lab import cell_with_tickets

from ticketlab.core.errors import UsageError
from ticketlab.figures import overlap


def heads(*kept):
    return {"heads/0": torch.tensor(kept).bool()}


def tiles(chart):
    return {(row["column"], row["row"]): round(row["value"], 6) for row in data(chart, "column", "value")}


@pytest.fixture
def two_cells(tmp_path):
    return comparison(
        [
            cell_with_tickets(tmp_path, {"method": "a"}, [heads(1, 1, 0, 0), heads(1, 0, 1, 0)]),
            cell_with_tickets(tmp_path, {"method": "b"}, [heads(1, 1, 0, 0), heads(0, 0, 1, 1)]),
        ]
    )


def test_each_two_tickets_have_their_jaccard_index(two_cells):
    found = tiles(overlap(two_cells))
    assert found["a, seed 0", "a, seed 0"] == 100
    assert found["a, seed 0", "a, seed 1"] == found["a, seed 1", "a, seed 0"] == 33.333333  # 1 of 3
    assert found["a, seed 0", "b, seed 0"] == 100
    assert found["a, seed 0", "b, seed 1"] == 0


def test_means_over_seeds_leave_a_ticket_and_itself_out(two_cells):
    found = tiles(overlap(two_cells, by="cell"))
    assert found["a", "a"] == 33.333333
    assert found["b", "b"] == 0
    assert found["a", "b"] == pytest.approx((100 + 0 + 100 / 3 + 100 / 3) / 4, abs=1e-5)  # of four pairs


def test_the_diagonal_is_empty_for_cells_of_one_seed(tmp_path):
    cells = [cell_with_tickets(tmp_path, {"method": name}, [heads(1, 1, 0, 0)]) for name in "ab"]
    assert set(tiles(overlap(comparison(cells), by="cell"))) == {("a", "b"), ("b", "a")}


def test_the_subtitle_says_what_chance_gives(two_cells):
    # Each keeps 2 of 4. Independent ones both keep a head with probability 1/4, either with 3/4.
    assert "Independent random tickets that keep as many heads overlap by 33 %." in subtitle(overlap(two_cells))


def test_one_cell_is_labelled_by_its_seeds(tmp_path):
    own = cell_with_tickets(tmp_path, {"method": "a"}, [heads(1, 0), heads(0, 1)])
    assert {row["row"] for row in data(overlap(comparison([own])), "row", "value")} == {"seed 0", "seed 1"}


def test_tickets_of_other_units_have_no_tile(tmp_path):
    cells = [
        cell_with_tickets(tmp_path, {"method": "a"}, [heads(1, 0)]),
        cell_with_tickets(tmp_path, {"method": "b"}, [heads(1, 0, 1)]),
    ]
    assert set(tiles(overlap(comparison(cells)))) == {("a, seed 0", "a, seed 0"), ("b, seed 0", "b, seed 0")}


def test_one_ticket_is_refused(tmp_path):
    with pytest.raises(UsageError, match="an overlap needs two tickets"):
        overlap(comparison([cell_with_tickets(tmp_path, {"method": "a"}, [heads(1, 0)])]))
