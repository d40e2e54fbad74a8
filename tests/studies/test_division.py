"""The division of a study into parts: it follows from the plan alone, covers it, and is balanced."""

from collections import Counter
from itertools import pairwise

import pytest
from support.small_study import small_study

from ticketlab.core.errors import UsageError
from ticketlab.studies import division
from ticketlab.studies.division import divide, only_units, units_of, units_of_part, work_of
from ticketlab.studies.part import Part
from ticketlab.studies.plan import plan_study

VARY = {"pruner": ["hard-concrete", "magnitude"], "adversary": ["none", "freelb"], "sparsity": [0.1, 0.3, 0.5]}


@pytest.fixture(scope="module")
def plan(small_recipe_file, tmp_path_factory):
    return plan_study(small_study(small_recipe_file, VARY, seeds=2), tmp_path_factory.mktemp("plan") / "lab")


@pytest.mark.parametrize("number", [1, 2, 3, 5, 18, 40])
def test_parts_cover_the_plan_without_overlap(plan, number):
    parts = divide(plan, number)
    assert len(parts) == number
    assert sorted(map(str, (unit for part in parts for unit in part))) == sorted(map(str, units_of(plan)))
    stages = Counter(key for part in parts for key in only_units(plan, part).stages)
    assert stages.keys() == plan.stages.keys()
    assert sum(bool(part) for part in parts) == min(number, len(units_of(plan)))


def test_the_division_is_that_of_the_plan_alone(plan, small_recipe_file, tmp_path):
    again = plan_study(small_study(small_recipe_file, VARY, seeds=2), tmp_path / "other")
    assert divide(again, 5) == divide(plan, 5)
    assert units_of_part(again, Part(2, 5)) == divide(plan, 5)[1]


def test_units_that_share_a_search_are_kept_together(plan):
    """Three searches for each of two seeds: with as many parts, each search is of one part."""
    searches = {key for key, planned in plan.stages.items() if planned.name == "search"}
    assert len(searches) == 6
    users = Counter(key for part in divide(plan, 6) for key in only_units(plan, part).stages if key in searches)
    assert max(users.values()) == 1
    halves = [{unit.seed for unit in part} for part in divide(plan, 2)]
    assert halves == [{0}, {1}]


def test_parts_have_about_equal_work(plan):
    users = Counter(key for unit in units_of(plan) for key in unit.keys)
    amount = {unit: sum(work_of(plan, plan.stages[key]) / users[key] for key in unit.keys) for unit in units_of(plan)}
    loads = [sum(amount[unit] for unit in part) for part in divide(plan, 5)]
    assert max(loads) - min(loads) <= 2 * max(amount.values())
    assert max(loads) < 1.5 * sum(loads) / 5


def test_a_part_has_the_stages_that_its_own_need(plan):
    for part in divide(plan, 4):
        own = only_units(plan, part).stages
        assert all(need in own for planned in own.values() for need in planned.needs)
        assert list(own) == [key for key in plan.stages if key in own]


@pytest.mark.parametrize(
    ("amounts", "number", "ends"),
    [
        ([1] * 12, 10, [1, 2, 3, 4, 5, 6, 8, 9, 11, 12]),
        ([1] * 3, 5, [1, 2, 3, 3, 3]),
        ([100, 1, 1, 1, 1], 3, [1, 3, 5]),
        ([1, 1, 1, 1, 100], 3, [3, 4, 5]),
        ([62] * 9 + [64] * 9 + [61] * 9, 3, [9, 18, 27]),
        ([], 2, [0, 0]),
    ],
)
def test_runs_of_amounts(amounts, number, ends):
    assert division._ends(amounts, number) == ends
    assert all(a <= b for a, b in pairwise(ends))


@pytest.mark.parametrize("text", ["0/10", "11/10", "x", "3", "3/0", "-1/2", "1/2/3", "1.0/2", "\u0663/\u0661\u0660", "1/99999"])
def test_a_part_that_does_not_exist_is_an_error(text):
    with pytest.raises(UsageError, match=f"^--part {text}: [^\n]*$"):
        Part.parse(text)


def test_a_part_is_parsed():
    assert Part.parse("3/10") == Part(3, 10)
    assert str(Part(3, 10)) == "3/10"
