"""Every study file of a paper is a study at both scales, and its numbers are those of the paper."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from attrs import evolve
from support.plugins import INFOBERT

from ticketlab.core import registry
from ticketlab.figures.kinds import FIGURES
from ticketlab.papers.catalogue import PAPERS, PaperStudy, paper_studies, read
from ticketlab.papers.costs import known_costs
from ticketlab.papers.counting import cost_of, plan_by_names
from ticketlab.report.metric_text import SPEED_UP, split_metric
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.design import unavailable

STUDIES = paper_studies()
WITH_PLUGIN = [name for name, found in STUDIES.items() if found.plugins]
WITH_NUMBERS = [name for name, found in STUDIES.items() if found.published]
SEEDS = {"robust-tickets": 5, "early-robust": 5, "orticket": 5, "srnets": 4}
OTHER_SEEDS = {"early-robust/figure-2": 1, "orticket/figure-1": 10, "srnets/supplement-table-2": 1}
DEMO_TASKS = {"demo", "demo_nli"}
ATTACK = "deepwordbug"
SCALES: Mapping[str, str | None] = {"full": None, "small": "small"}


def every_table_and_figure() -> Iterator[str]:
    """Yield those with results: all but diagrams, hyperparameters and split sizes."""
    numbers = {
        "robust-tickets": ((1, 2, 3, 4), (1, 2, 3, 4, 5)),
        "early-robust": ((1, 2, 3, 4, 5, 7, 8), (2, 3, 4, 5)),
        "orticket": ((1, 2, 3, 4, 5, 6), (1, 2)),
        "srnets": ((), (2, 3, 4, 5, 6, 7, 8)),
        "srnets/supplement": ((2, 5, 6), (1, 2, 3)),
    }
    for paper, (tables, figures) in numbers.items():
        prefix = f"{paper}-" if "/" in paper else f"{paper}/"
        yield from (f"{prefix}table-{number}" for number in tables)
        yield from (f"{prefix}figure-{number}" for number in figures)


def test_every_table_and_figure_of_the_papers_has_a_study() -> None:
    assert list(STUDIES) == list(every_table_and_figure())
    assert len({found.summary + found.title for found in STUDIES.values()}) == len(STUDIES)


@pytest.fixture(autouse=True)
def _builtins_only(builtins_only: object) -> None:
    """Load no plugin, also not an installed one."""


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_can_be_planned_at_full_scale_with_the_papers_seeds_and_model(name: str) -> None:
    plan = plan_by_names(read(name))
    found = STUDIES[name]
    assert {cell.error for cell in plan.cells if cell.error} == set(found.unavailable.values())
    assert cost_of(plan) == evolve(known_costs()[name], with_plugins=None), "run docs/generate.py"
    assert cost_of(plan).cells == found.cells
    assert found.seeds == OTHER_SEEDS.get(name, SEEDS[name.partition("/")[0]])
    recipes = [cell.cell.recipe for cell in plan.cells if cell.cell.recipe is not None]
    assert {recipe.scale for recipe in recipes} == {"full"}
    assert {len(recipe.seeds) for recipe in recipes} == {found.seeds}
    assert {recipe.paper_seeds for recipe in recipes} <= {found.seeds, None} or name in OTHER_SEEDS
    levels = {level.label for factor in plan.study.factors for level in factor.levels}
    assert found.table.get("baseline") in {None, *levels, *(cell.cell.label for cell in plan.cells)}


@pytest.mark.parametrize("name", WITH_PLUGIN)
def test_a_study_has_no_gaps_with_the_plugin_that_it_needs(name: str) -> None:
    with registry.using(registry.load([INFOBERT], entry_points=False)):
        plan = plan_by_names(read(name))
    assert [cell.error for cell in plan.cells if cell.error] == []
    assert cost_of(plan) == known_costs()[name].with_plugins, "run docs/generate.py"
    rows = [cell.cell for cell in plan.cells if cell.cell.levels["method"].label == "InfoBERT"]
    others = {cell.cell.levels["task"].label: cell.cell.recipe for cell in plan.cells if cell.cell.levels["method"].label == "FreeLB"}
    for row in rows:
        other = others[row.levels["task"].label]
        assert row.recipe is not None
        assert other is not None
        own, of_freelb = ({key: stage.identity() for key, stage in recipe.stages.items()} for recipe in (row.recipe, other))
        assert own["finetune"].pop("adversary")["name"] == "infobert"
        assert of_freelb["finetune"].pop("adversary")["name"] == "freelb"
        assert own == of_freelb


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        *(pytest.param(name, False, id=name) for name in STUDIES),
        *(pytest.param(name, True, id=f"{name} with plugin") for name in WITH_PLUGIN),
    ],
)
def test_a_study_is_small_and_needs_no_download_at_the_small_scale(name: str, plugin: bool) -> None:
    with registry.using(registry.load([INFOBERT] if plugin else [], entry_points=False)):
        study = read(name, scale="small", model="demo")
        cells = [cell for cell in compose_cells(study) if not unavailable(cell.levels)]
    assert [cell.error for cell in cells if cell.error] == []
    assert len(cells) <= 12
    for cell in cells:
        assert cell.recipe is not None
        assert (cell.recipe.scale, cell.recipe.model) == ("small", "demo")
        assert len(cell.recipe.seeds) <= 2
        assert {task.name for task in (*cell.recipe.tasks, *cell.recipe.ood)} <= {*DEMO_TASKS, "demo_nli_ood"}
        stages: list[Any] = list(cell.recipe.stages.values())
        attacks = {attack.name for stage in stages for attack in getattr(stage, "attacks", ())}
        assert attacks <= {ATTACK}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", STUDIES)
def test_tables_and_figures_name_factors_and_metrics_that_exist(name: str, scale: str) -> None:
    study = read(name, scale=SCALES[scale])
    factors = {factor.name for factor in study.factors}
    table, figures = study.report["table"], study.report["figures"]
    assert {*table.get("rows", ()), *table.get("columns", ())} <= factors | {"task"}
    assert all(is_metric(metric) for metric in table["metrics"])
    assert figures
    for figure in figures:
        arguments = {key: value for key, value in figure.items() if key != "kind"}
        parameters = inspect.signature(FIGURES[figure["kind"]].function).parameters
        assert arguments.keys() <= parameters.keys()
        assert {key for key, about in parameters.items() if about.default is about.empty} <= {"comparison", *arguments}
        assert {figure[key] for key in ("color", "line", "facet") if key in figure} <= factors
        measures = [figure["y"]] if isinstance(figure.get("y"), str) else figure.get("y", [])
        if figure["kind"] != "convergence":
            assert all(
                is_metric(metric) for metric in (*measures, *([figure["x"]] if figure["kind"] == "id-ood" and "x" in figure else []))
            )
            assert figure["kind"] != "metric" or figure["x"] in factors


def is_metric(name: str) -> bool:
    _, kind, of, measure = split_metric(name)
    return name == SPEED_UP or "*" in name or ((kind in ("clean", "cost", "sparsity", "history") or bool(of)) and bool(measure))


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_printed_numbers_belong_to_levels_and_metrics_of_the_study(name: str) -> None:
    study, found = read(name), STUDIES[name]
    levels = {factor.name: {level.label for level in factor.levels} for factor in study.factors}
    metrics = study.report["table"]["metrics"]
    seen = set()
    for row in found.table["published"]:
        of_row = {key: value for key, value in row.items() if key in levels}
        assert of_row.keys() == levels.keys(), row
        assert all(value in levels[key] for key, value in of_row.items()), row
        for metric in row.keys() - levels.keys():
            assert is_metric(metric)
            assert any(fnmatch.fnmatchcase(metric, pattern) for pattern in metrics), metric
            assert isinstance(row[metric], (int, float))
            assert (tuple(of_row.values()), metric) not in seen, "given twice"
            seen.add((tuple(of_row.values()), metric))


@pytest.mark.parametrize("name", ["robust-tickets/table-1", "orticket/table-1"])
def test_printed_success_rates_follow_from_the_printed_accuracies(name: str) -> None:
    """Suc = (Clean - Aua) / Clean finds numbers that were misread. Some differ: Clean is of all examples, the others of a sample."""
    rows = STUDIES[name].table["published"]
    kinds = ("bert-attack", "textfooler", "textbugger")
    found = [(row, kind) for row in rows for kind in kinds if f"attack.{kind}.suc" in row]
    assert len(found) >= 3 * len(rows) - 1
    for row, kind in found:
        clean, aua, success = row["clean.accuracy"], row[f"attack.{kind}.aua"], row[f"attack.{kind}.suc"]
        assert 100 * (clean - aua) / clean == pytest.approx(success, abs=0.65), row


def printed(name: str, metric: str, *levels: str) -> float:
    (value,) = (row[metric] for row in STUDIES[name].table["published"] if set(levels) <= set(row.values()) and metric in row)
    return float(value)


AUA = ("attack.bert-attack.aua", "attack.textfooler.aua", "attack.textbugger.aua")
SPOT_CHECKS = [
    ("robust-tickets/table-1", ("imdb", "Fine-tune"), (94.1, 7.8, 12.2, 25.8)),
    ("robust-tickets/table-1", ("imdb", "RobusT"), (93.8, 55.2, 55.6, 57.6)),
    ("robust-tickets/table-1", ("ag_news", "FreeLB"), (95.2, 10.8, 24.3, 51.7)),
    ("robust-tickets/table-1", ("ag_news", "InfoBERT"), (94.4, 11.1, 25.1, 47.9)),
    ("robust-tickets/table-1", ("sst2", "LTH"), (92.1, 2.2, 4.1, 29.1)),
    ("robust-tickets/table-1", ("sst2", "Random"), (83.2, 2.1, 2.4, 16.5)),
    ("orticket/table-1", ("imdb", "ORTicket"), (91.4, 60.6, 61.6, 68.0)),
    ("orticket/table-1", ("imdb", "Vanilla"), (92.2, 25.3, 28.4, 41.6)),
    ("orticket/table-1", ("sst2", "FreeLB"), (91.8, 46.5, 21.9, 43.3)),
    ("orticket/table-1", ("qnli", "ORTicket"), (90.9, 33.3, 30.9, 29.6)),
    ("orticket/table-1", ("qqp", "RobusT"), (91.4, 42.8, 37.6, 37.8)),
]


@pytest.mark.parametrize(("name", "levels", "expected"), SPOT_CHECKS)
def test_printed_numbers_are_those_of_the_papers(name: str, levels: tuple[str, ...], expected: tuple[float, ...]) -> None:
    assert tuple(printed(name, metric, *levels) for metric in ("clean.accuracy", *AUA)) == expected


@pytest.mark.parametrize(
    ("name", "levels", "metric", "expected"),
    [
        ("robust-tickets/table-2", ("mnli", "RobusT"), "attack.textbugger.aua", 22.6),
        ("robust-tickets/table-3", ("imdb", "w/o mask learning"), "attack.textfooler.aua", 15.1),
        ("robust-tickets/table-4", ("sst2", "w/o structure, longer"), "attack.textfooler.aua", 27.5),
        ("orticket/table-2", ("sst2", "Vanilla"), "speed_up", 6.2),
        ("orticket/table-2", ("qqp", "ORTicket"), "cost.parameters", 93),
        ("srnets/supplement-table-5", ("fixed, hard", "qqp"), "ood.paws_qqp.weighted_f1", 55.70),
        ("srnets/supplement-table-5", ("0.7~0.9", "fever"), "ood.fever_symmetric_v2.accuracy", 58.17),
        ("srnets/supplement-table-6", ("RoBERTa-base", "mask train, 0.7"), "ood.hans.accuracy", 68.63),
    ],
)
def test_single_printed_numbers_are_those_of_the_papers(name: str, levels: tuple[str, ...], metric: str, expected: float) -> None:
    assert printed(name, metric, *levels) == expected


@pytest.mark.parametrize("found", STUDIES.values(), ids=STUDIES)
def test_a_study_says_what_differs_from_the_paper(found: PaperStudy) -> None:
    assert found.table["differences"]
    assert all(isinstance(text, str) and text and not text.endswith(".") for text in found.table["differences"].values())
    assert found.paper.partition(",")[0].endswith("et al.")
    assert found.title.startswith(f"{PAPERS[found.name.partition('/')[0]]}, ")
