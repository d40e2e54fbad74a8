from __future__ import annotations

from pathlib import Path

import pytest
from support.measured_cells import compared, measured_cell

from ticketlab.report.speed_up import SpeedUp, speed_ups
from ticketlab.statistics.seeds import SeedStatistics


def compare(lab: Path, own: dict[str, object], baseline: dict[str, object]) -> SpeedUp:
    cells = [
        measured_cell(lab, {"method": name}, clean=["1"] * 3, **more)  # type: ignore[arg-type]
        for name, more in (("ticket", own), ("dense", baseline))
    ]
    (found,) = speed_ups(compared(*cells), baseline="dense")
    return found


def test_the_speed_up_is_the_geometric_mean_of_the_ratios_of_optimizer_seconds(tmp_path: Path) -> None:
    found = compare(tmp_path, {"seconds": [1.0, 1.0, 2.0]}, {"seconds": [2.0, 8.0, 8.0]})
    assert found.ratio is not None
    assert found.seconds is not None
    assert found.baseline_seconds is not None
    assert (found.cell, found.baseline, found.task, found.seeds, found.reason) == ("ticket", "dense", "sst2", (0, 1, 2), "")
    assert found.ratio.mean == pytest.approx(4)  # of 2, 8 and 4
    assert (found.seconds.mean, found.baseline_seconds.mean) == (pytest.approx(4 / 3), pytest.approx(6))
    assert found.ratio.interval == pytest.approx((4 * 2 ** (-4.302653 / 3**0.5), 4 * 2 ** (4.302653 / 3**0.5)))


def test_one_seed_has_no_interval(tmp_path: Path) -> None:
    cells = [
        measured_cell(tmp_path, {"method": name}, clean=["1"], seconds=[seconds]) for name, seconds in (("ticket", 1.0), ("dense", 2.0))
    ]
    (found,) = speed_ups(compared(*cells), baseline="dense")
    assert found.ratio == SeedStatistics(pytest.approx(2), None, None, 1)


def test_seconds_that_are_not_known_are_a_reason(tmp_path: Path) -> None:
    found = compare(tmp_path, {}, {"seconds": [2.0] * 3})
    assert (found.ratio, found.reason) == (None, "ticket has no timed optimizer steps")
