"""Sources of random numbers that every seed shares: what is left differs, and nothing else."""

import pytest
import torch

from ticketlab.backbone.loading import load_finished
from ticketlab.core.errors import UsageError
from ticketlab.recipes.recipe import build_recipe
from ticketlab.runs.run import run
from ticketlab.tasks.demo.reviews import DemoTask

SOURCES = ("head", "order", "dropout")


def trained(model, lab, seed, **more):
    """Return the weights after one epoch, or after no step at all with ``lr=1e-30``."""
    stage = {"kind": "train", "start": "pretrained", "epochs": 1, "lr": 1e-3, "batch_size": 8, **more}
    tasks = [DemoTask(rows=24, dev_rows=8, test_rows=8)]
    done = run(build_recipe("fixed", {"model": str(model), "precision": "fp32", "seeds": [seed], "tasks": tasks, "finetune": stage}), lab)
    key = done.results["tasks"]["demo"][str(seed)]["finetune"]["key"]
    return load_finished(str(lab / "stages" / key[:2] / key / "model"))[0].state_dict()


def are_equal(first, second):
    return all(torch.equal(value, second[name]) for name, value in first.items())


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return tmp_path_factory.mktemp("lab")


@pytest.mark.parametrize("left", [*SOURCES, None])
def test_seeds_differ_by_what_is_not_fixed(left, tiny, lab):
    fixed = [source for source in SOURCES if source != left]
    models = [trained(tiny["bert"], lab, seed, fixed_randomness=fixed) for seed in (1, 2)]
    assert are_equal(*models) == (left is None)


def test_the_fixed_sources_are_those_of_seed_0(tiny, lab):
    assert are_equal(trained(tiny["bert"], lab, 3, fixed_randomness=SOURCES), trained(tiny["bert"], lab, 0))


@pytest.mark.parametrize("source", SOURCES)
def test_only_the_head_decides_the_weights_at_the_start(source, tiny, lab):
    start = {"lr": 1e-30, "weight_decay": 0.0}
    models = [trained(tiny["bert"], lab, seed, fixed_randomness=[source], **start) for seed in (1, 2)]
    largest = max(float((value - models[1][name]).abs().max()) for name, value in models[0].items())
    assert (largest < 1e-20) == (source == "head")


def test_a_source_is_named_once(tiny, tmp_path):
    with pytest.raises(UsageError, match=r"fixed_randomness.*order is named twice in \['order', 'head', 'order'\]"):
        trained(tiny["bert"], tmp_path, 0, fixed_randomness=["order", "head", "order"])
