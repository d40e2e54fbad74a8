from __future__ import annotations

import pytest
from support.plugins import INFOBERT

from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.papers.catalogue import find, read
from ticketlab.papers.costs import cost_here

NEEDED = "needs the plugin ticketlab-infobert: install it, or name its file or folder with `--plugin`"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("robust-tickets/table-1", "RobusT, Table 1"),
        ("early-robust/figure-2", "EarlyRobust, Figure 2"),
        ("srnets/supplement-table-2", "SRNets, Table 2 of the supplement"),
    ],
)
def test_a_study_is_titled_as_in_its_paper(name: str, title: str) -> None:
    assert find(name).title == title


def test_cells_are_those_that_can_be_computed(builtins_only: object) -> None:
    found = find("robust-tickets/table-1")
    assert (found.cells, found.seeds) == (3 * 5, 5)
    assert found.plugins == {"InfoBERT": "ticketlab-infobert"}
    assert found.unavailable == {"InfoBERT": NEEDED}
    assert found.published == 3 * 6 * 10 - 1  # one is impossible, and left out
    with registry.using(registry.load([INFOBERT], entry_points=False)):
        assert (found.cells, found.unavailable, cost_here(found).cells) == (3 * 6, {}, 3 * 6)
    assert cost_here(found).cells == 3 * 5
    assert (find("srnets/figure-8").cells, find("early-robust/table-5").cells) == (3 * 2 * 4, 2 * 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("robust-tickets/table-11", "robust-tickets has no table or figure `table-11`; did you mean `table-1`"),
        ("orticket", "orticket has no table or figure ``"),
        ("srnet/figure-2", "no paper is called `srnet`; did you mean `srnets`"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_name(name: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(name)
    assert str(caught.value).startswith(expected)


def test_tasks_model_seeds_and_settings_replace_those_of_the_paper() -> None:
    study = read("robust-tickets/table-1", tasks=["mrpc"], model="demo", seeds=2, settings={"attack": ["pwws"]})
    assert [task.name for task in study.tasks] == ["mrpc"]
    assert [factor.name for factor in study.factors] == ["method"]
    assert study.seeds == (0, 1)
    assert (study.settings["model"], study.settings["attack"]) == ("demo", ["pwws"])


def test_one_model_cannot_replace_the_models_that_a_study_compares() -> None:
    with pytest.raises(UsageError, match=r"compares models \(RoBERTa-base, BERT-large\)"):
        read("srnets/supplement-table-6", model="demo")
    assert read("srnets/supplement-table-6", model="demo", scale="small").settings["model"] == "demo"


def test_an_unknown_scale_is_an_error() -> None:
    with pytest.raises(UsageError, match="orticket/table-1 has no scale `smal`; did you mean `small`"):
        read("orticket/table-1", scale="smal")
