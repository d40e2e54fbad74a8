"""The built-in tasks whose data is on this machine pass the conformance tests, and so does that of a third party."""

from __future__ import annotations

from pathlib import Path

import pytest
from third_party.moods_task import Moods

from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.pairs import DemoPairs, DemoPairsOOD
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.testing import TaskTests


class TestDemoTask(TaskTests):
    component = DemoTask
    settings = ({"rows": 40},)


class TestDemoPairs(TaskTests):
    component = DemoPairs
    settings = ({"rows": 40},)


class TestDemoPairsOOD(TaskTests):
    component = DemoPairsOOD
    challenge = True


class TestMoods(TaskTests):
    component = Moods
    settings = ({"rows": 10}, {"flipped": True})


class TestLocalDataset(TaskTests):
    component = LocalDataset
    settings = ({"text_columns": ["words"], "label_column": "mood"},)

    @pytest.fixture(autouse=True)
    def _file(self, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        rows = [f"a {('grey', 'bright')[number % 2]} day number {number},{('sad', 'merry')[number % 2]}" for number in range(40)]
        (tmp_path / "moods.csv").write_text("\n".join(["words,mood", *rows]), encoding="utf-8")
        request.cls.required = {"path": str(tmp_path / "moods.csv")}
