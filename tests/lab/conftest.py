import importlib.util

import pytest

from ticketlab import recipe
from ticketlab.tasks.demo import Demo

needs_textattack = pytest.mark.skipif(importlib.util.find_spec("textattack") is None, reason="textattack is not installed")

TABLE = {
    "finetune": {"kind": "train", "epochs": 2, "lr": 1e-3, "batch_size": 8, "checkpoint_seconds": 0},
    "search": {
        "kind": "search", "start": "finetune", "epochs": 2, "batch_size": 8, "checkpoint_seconds": 0,
        "adversary": {"name": "freelb", "steps": 2},
    },
    "draw": {"kind": "draw", "sparsity": 0.3},
    "retrain": {"kind": "train", "ticket": "draw", "epochs": 2, "lr": 1e-3, "batch_size": 8, "checkpoint_seconds": 0},
    "evaluate": {"kind": "evaluate", "model": "retrain"},
    "attack": {"kind": "attack", "model": "retrain", "attacks": ["deepwordbug"], "examples": 8},
}  # fmt: skip


@pytest.fixture
def make_recipe(tiny):
    """Build a small recipe; ``without`` names stages to leave out, ``sets`` are ``path=value``."""

    def make(*sets: str, without: tuple[str, ...] = ("attack",), family: str = "bert", seeds=(0,)) -> recipe.Recipe:
        table = {name: stage for name, stage in TABLE.items() if name not in without}
        table |= {"model": str(tiny[family]), "max_length": 48, "precision": "fp32", "seeds": list(seeds)}
        for assignment in sets:
            table = recipe.override(table, assignment)
        table["tasks"] = [Demo(rows=48, dev_rows=12, test_rows=24)]
        return recipe.from_table_of_stages("small", table)

    return make


def without_cost(value):
    """Results less what two runs may differ in."""
    if isinstance(value, dict):
        return {key: without_cost(item) for key, item in value.items() if key != "cost"}
    return [without_cost(item) for item in value] if isinstance(value, list) else value
