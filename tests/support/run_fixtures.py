"""A lab and small recipes for tests of runs."""

import pytest
from support.small_recipe import TABLE

from ticketlab.recipes import recipe, tables
from ticketlab.tasks.demo.reviews import DemoTask


@pytest.fixture(scope="session")
def shared_lab(tmp_path_factory):
    """A lab for tests that work with any stages already in it."""
    return tmp_path_factory.mktemp("shared") / "lab"


@pytest.fixture(scope="session")
def make_recipe(tiny):
    """Build a small recipe; ``without`` names stages to leave out, ``sets`` are ``path=value``."""

    def make(*sets: str, without: tuple[str, ...] = ("attack",), family: str = "bert", seeds=(0,)) -> recipe.Recipe:
        table = {name: stage for name, stage in TABLE.items() if name not in without}
        table |= {"model": str(tiny[family]), "max_length": 48, "precision": "fp32", "seeds": list(seeds)}
        for assignment in sets:
            table = tables.override(table, assignment)
        table["tasks"] = [DemoTask(rows=48, dev_rows=12, test_rows=24)]
        return recipe.build_recipe("small", table)

    return make
