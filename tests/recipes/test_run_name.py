"""The names of runs' directories are readable, valid on every file system, and unique by their digest."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import Recipe
from ticketlab.recipes.run_name import MAX_BYTES, file_system_safe, run_name
from ticketlab.tasks.datasets.local import LocalDataset

DIGEST = "1a2b3c4d5e" + "f" * 54


def composed(recipe: str = "robust-ticket", **settings: Any) -> Recipe:
    return compose(recipe, tasks=settings.pop("tasks", "sst2"), **settings)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        pytest.param({}, "robust-ticket-sst2", id="plain"),
        pytest.param({"pruner": "magnitude", "sparsity": 0.5}, "robust-ticket-sst2-magnitude-0.5", id="values of common settings"),
        pytest.param({"adversary": "none"}, "robust-ticket-sst2-no-search-adversary", id="none"),
        pytest.param({"sets": "retrain.epochs=7"}, "robust-ticket-sst2-retrain-epochs-7", id="name and value of others"),
        pytest.param({"sets": "retrain.hold_mask=false"}, "robust-ticket-sst2-no-retrain-hold_mask", id="false"),
        pytest.param({"model": "google/electra-small", "seeds": 3}, "robust-ticket-sst2-electra-small-3seeds", id="model and seeds"),
        pytest.param({"scale": "small", "seeds": [4]}, "robust-ticket-sst2-small-seed4", id="scale and seed"),
        pytest.param({"attacks": ["pwws"]}, "robust-ticket-sst2-pwws", id="attacks"),
        pytest.param({"tasks": ["sst2", "ag_news"], "ood": "demo"}, "robust-ticket-sst2+ag_news+demo", id="tasks and challenge sets"),
    ],
)
def test_the_name_has_the_recipe_the_tasks_and_what_differs(settings: dict[str, Any], name: str) -> None:
    assert run_name(composed(**settings), DIGEST) == f"{name}-1a2b3c4d5e"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b\\c:d*e", "a-b-c-d-e"),
        ("..hidden.", "hidden"),
        ("v1.5.x", "v1.5-x"),
        ("影評 отзывы", "影評-отзывы"),
        ("e\u0301te\u0301", "été"),
        ("-rf --", "rf"),
        ("\n\x1b[31m", "31m"),
    ],
)
def test_a_part_keeps_letters_of_any_script_and_dots_in_numbers(text: str, expected: str) -> None:
    assert file_system_safe(text) == expected


@given(name=st.text(min_size=1, max_size=60), folder=st.text(min_size=1, max_size=60), digest=st.text("0123456789abcdef", min_size=64))
def test_every_name_is_valid_on_every_file_system_and_ends_in_the_digest(name: str, folder: str, digest: str) -> None:
    task = LocalDataset(path=f"data/{folder.replace(chr(0), '0')}")
    made = evolve(RECIPE, name=name, tasks=(task,), without_overrides=None)
    written = run_name(made, digest)
    assert written.endswith(f"-{digest[:10]}")
    assert len(written.encode()) <= MAX_BYTES
    assert written.isprintable()
    assert written[0] not in ".-"
    assert not set(written) & set('/\\:*?"<>|')
    assert file_system_safe(written) == written


RECIPE = composed("fine-tune", tasks="demo")


def test_what_does_not_fit_is_left_out() -> None:
    sets = [f"{stage}.{setting}" for stage in ("finetune", "retrain") for setting in ("epochs=7", "lr=0.123", "warmup=0.5", "clip=3")]
    name = run_name(composed(sets=sets, pruner="magnitude"), DIGEST)
    assert name.startswith("robust-ticket-sst2-")
    assert 80 < len(name.encode()) <= MAX_BYTES
