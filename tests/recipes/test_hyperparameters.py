"""The recipes have the hyperparameters of their papers: every row of docs/reference/hyperparameters.md is compared with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from ticketlab.core import builtin_components
from ticketlab.recipes.compose import compose

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hyperparameters.md"
OF_NO_PAPER = {"ticket", "structured-hard-concrete", "structured-imp", "structured-mask-training"}
MEASURES_ONLY = {"fine-tune-convergence", "freelb-convergence", "lottery-ticket-convergence", "robust-ticket-convergence", "srnet-bias"}
"""Recipes that measure more than the recipe of a paper and train the same models, or none."""
HELD: Mapping[str, tuple[str, ...]] = {
    "train": ("epochs", "lr", "batch_size", "weight_decay", "warmup"),
    "search": ("epochs", "batch_size", "weight_decay", "warmup"),
    "attack": ("attacks", "examples"),
}
"""The settings that every recipe has a row for, by the kind of the stage."""
SOURCE = re.compile(
    r"ours|none given|script|(RobusT, |EarlyRobust, )?(\d|[A-E]\.|Tables? \d|Eq\. \d|Algorithm \d|Fig\. \d|script)|Jin et al"
)


@frozen
class Row:
    section: str
    line: str
    recipes: tuple[str, ...]
    tasks: tuple[str, ...]
    setting: str
    value: str
    source: str


def rows(text: str) -> Iterator[Row]:
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        (line,) = re.findall(r"^Tasks: (.+)$", body, re.MULTILINE)
        tasks = tuple(re.findall(r"`(\w+)`", line))
        groups: dict[str, list[str]] = {}
        for name, items in re.findall(r"^- \*([\w-]+)\*: ((?:.+\n(?:  .+\n)*))", body, re.MULTILINE):
            groups[name] = members(items, groups)
        for row in re.findall(r"^\| ((?:`|\*).+) \|$", body, re.MULTILINE):
            recipes, of, setting, value, source = row.split(" | ")
            named = tasks if of == "all" else tuple(re.findall(r"`(\w+)`", of))
            assert set(named) <= set(tasks), row
            yield Row(title, row, tuple(members(recipes, groups)), named, setting.strip("`"), value, source)


def members(items: str, groups: Mapping[str, list[str]]) -> list[str]:
    found = [groups[group] if group else [recipe] for recipe, group in re.findall(r"`([\w-]+)`|\*([\w-]+)\*", items)]
    return list(dict.fromkeys(recipe for recipes in found for recipe in recipes))


def value_at(table: Mapping[str, Any], path: str) -> Any:
    """Return the value of a resolved recipe at a path; a component is addressed, and returned, by its name."""
    found: Any = table
    for key in path.split("."):
        found = next(item for item in found if item["name"] == key) if isinstance(found, list) else found[key]
    if isinstance(found, list):
        return ", ".join(item["name"] for item in found)
    return found["name"] if isinstance(found, Mapping) else found


def meant(value: str) -> Any:
    """Return the value of a cell: a number, true or false, or a name."""
    if value in ("true", "false"):
        return value == "true"
    if re.fullmatch(r"[\d.e/-]+", value):
        return pytest.approx(float(Fraction(value)) if "/" in value else float(value))
    return value


ROWS = list(rows(PAGE.read_text(encoding="utf-8")))
RECIPES = [name for name in builtin_components.ticketlab_recipes() if name not in OF_NO_PAPER | MEASURES_ONLY]
SECTIONS = {recipe: {row.section for row in ROWS if recipe in row.recipes} for recipe in RECIPES}


@pytest.fixture(scope="module")
def resolved() -> dict[tuple[str, str], dict[str, Any]]:
    tasks = {row.section: dict.fromkeys(task for other in ROWS if other.section == row.section for task in other.tasks) for row in ROWS}
    pairs = [(recipe, task) for recipe in RECIPES for section in SECTIONS[recipe] for task in tasks[section]]
    return {(recipe, task): {"paper_seeds": "none", **compose(recipe, tasks=[task]).to_table()} for recipe, task in pairs}


def test_every_row_of_the_page_is_read() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(("| `", "| *"))]
    assert len(ROWS) == len(lines) > 200
    assert {row.section for row in ROWS} == {"RobusT", "EarlyRobust", "ORTicket", "SRNets"}
    assert [row.line for row in ROWS if not row.recipes or not row.tasks or not SOURCE.match(row.source)] == []


@pytest.mark.parametrize("section", ["RobusT", "EarlyRobust", "ORTicket", "SRNets"])
def test_recipes_have_the_hyperparameters_of_their_papers(section: str, resolved: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    wrong = [
        f"{recipe} on {task}: {row.setting} is {found}, and by {row.source} {row.value}"
        for row in ROWS
        if row.section == section
        for recipe in row.recipes
        for task in row.tasks
        if (found := value_at(resolved[recipe, task], row.setting)) != meant(row.value)
    ]
    assert wrong == []


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_of_a_paper_is_on_the_page(recipe: str, resolved: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    """With its numbers for every task of its paper: epochs, learning rates, sparsities and attacks."""
    assert len(SECTIONS[recipe]) == 1
    known = {(task, row.setting) for row in ROWS if recipe in row.recipes for task in row.tasks}
    for (name, task), table in resolved.items():
        if name == recipe:
            missing = [setting for setting in needed(table) if (task, setting) not in known]
            assert missing == [], task


def needed(table: Mapping[str, Any]) -> Iterator[str]:
    yield "max_length"
    for name, stage in table.items():
        if isinstance(stage, Mapping) and name != "random":
            if stage["kind"] == "draw":
                yield from (f"{name}.heads", f"{name}.neurons") if stage["heads"] != "none" else ()
                yield from () if stage["heads"] != "none" else (f"{name}.like",) if stage["like"] != "none" else (f"{name}.sparsity",)
            elif stage["kind"] != "search" or stage["pruner"]["name"] not in ("magnitude", "random"):
                augments = any(isinstance(other, Mapping) and other.get("augment") == name for other in table.values())
                yield from () if augments else (f"{name}.{setting}" for setting in HELD.get(stage["kind"], ()))


@pytest.mark.parametrize("paper", ["early-robust", "orticket"])
def test_baselines_are_trained_as_long_and_attacked_as_the_tickets_they_are_compared_with(
    paper: str, resolved: Mapping[tuple[str, str], dict[str, Any]]
) -> None:
    for (name, task), table in resolved.items():
        if name.startswith(f"{paper}-baseline-"):
            ticket = resolved[paper, task]
            last = "retrain" if "retrain" in table else "finetune"
            assert (table[last]["epochs"], table[last]["lr"]) == (ticket["retrain"]["epochs"], ticket["retrain"]["lr"])
            assert {key: table[key] for key in ("max_length", "model")} == {key: ticket[key] for key in ("max_length", "model")}
            assert {**table["attack"], "model": ""} == {**ticket["attack"], "model": ""}


@pytest.mark.parametrize("task", ["sst2", "imdb", "ag_news", "qnli", "qqp", "mnli"])
def test_all_compared_recipes_have_the_same_maximum_length(task: str) -> None:
    lengths = {
        compose(recipe, tasks=[task]).max_length for recipe in builtin_components.ticketlab_recipes() if not recipe.startswith("srnet")
    }
    assert lengths == {256 if task in ("imdb", "ag_news") else 128}
