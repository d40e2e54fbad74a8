from __future__ import annotations

import json
from typing import Any

import pytest
from support.plugins import INFOBERT

from ticketlab.papers.catalogue import find

NEEDED = "needs the plugin ticketlab-infobert: install it, or name its file or folder with `--plugin`"


@pytest.fixture(autouse=True)
def _builtins_only(builtins_only: object) -> None:
    """Load no plugin, also not an installed one."""


def test_papers_lists_what_each_study_shows_and_costs(invoke: Any) -> None:
    found = {one["name"]: one for one in json.loads(invoke("papers", "--json").stdout)}
    assert len(found) == 41
    facts = found["robust-tickets/table-1"]
    assert {key: facts[key] for key in ("title", "cells", "seeds", "plugins", "unavailable")} == {
        "title": "RobusT, Table 1",
        "cells": 15,
        "seeds": 5,
        "plugins": {"InfoBERT": "ticketlab-infobert"},
        "unavailable": {"InfoBERT": NEEDED},
    }
    assert facts["stages"] > facts["cells"] * facts["seeds"]
    found = {one["name"]: one for one in json.loads(invoke("papers", "--plugin", INFOBERT, "--json").stdout)}
    complete = found["robust-tickets/table-1"]
    assert (complete["cells"], complete["stages"], complete["unavailable"]) == (18, facts["stages"] + 3 * 3 * 5, {})


def test_papers_lists_the_studies_of_one_paper(invoke: Any) -> None:
    lines = invoke("papers", "orticket").stdout.splitlines()
    named = [line.split()[0] for line in lines if line.startswith("  orticket/")]
    assert named == [*(f"orticket/table-{number}" for number in range(1, 7)), "orticket/figure-1", "orticket/figure-2"]
    assert lines[-1] == f"InfoBERT {NEEDED} (orticket/table-1)"
    assert "InfoBERT needs" not in invoke("papers", "orticket", "--plugin", INFOBERT).stdout


def test_show_prints_the_study_file(invoke: Any) -> None:
    assert invoke("papers", "srnets/figure-8", "--show").stdout == find("srnets/figure-8").text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--show"], "name a table or figure for --show, such as robust-tickets/table-1"),
        (["orticket", "--dry-run"], "name a table or figure for --dry-run"),
        (["--scale", "small"], "name a table or figure for --scale, such as robust-tickets/table-1"),
        (["orticket", "--csv", "a.csv"], "name a table or figure for --csv"),
        (["--task", "sst2"], "name a table or figure for --task,"),
        (["--n", "5"], "name a table or figure for --n,"),
        (["--executor-set", "x=1"], "name a table or figure for --executor-set,"),
        (["orticket/table-1", "--show", "--json"], "--json: --show prints the study file as it is"),
        (["orticket/table-9"], "orticket has no table or figure `table-9`"),
        (["orticket/table-1", "--scale", "smal"], "orticket/table-1 has no scale `smal`; did you mean `small`"),
        (["srnets/figure-2", "--text", "a.txt", "--dry-run"], "has no stage whose objective is `mlm`"),
    ],
)
def test_a_wrong_command_is_an_error(invoke: Any, arguments: list[str], expected: str) -> None:
    result = invoke("papers", *arguments)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_a_dry_run_at_full_scale_lists_cells_without_reading_data(invoke: Any) -> None:
    result = invoke("papers", "robust-tickets/table-2", "--dry-run", "--seeds", "1")
    assert result.exit_code == 0, result.stderr
    assert "task=qnli, method=RobusT: robust-ticket, 6 stages" in result.stdout
    assert f"method=InfoBERT: cannot be computed: {NEEDED}\n" in result.stdout
    assert "is identified by its name" in result.stderr
    assert "12 cells, 3 cannot be computed; " in result.stderr
    result = invoke("papers", "robust-tickets/table-2", "--dry-run", "--seeds", "1", "--plugin", INFOBERT)
    assert "task=qnli, method=InfoBERT: infobert, 3 stages" in result.stdout
    assert "12 cells; " in result.stderr
