from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from ticketlab.backbone.loading import load_classifier
from ticketlab.testing.tiny import tiny_model

FAMILIES = ("bert", "roberta", "electra", "distilbert")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny models are slower on more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tiny")
    return {family: tiny_model(family, root / family) for family in FAMILIES}


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tiny: dict[str, Path]) -> Path:
    return tiny[request.param]


@pytest.fixture
def model(folder: Path):
    return load_classifier(str(folder), ("negative", "positive"), 0)[0]


@pytest.fixture
def bert(tiny: dict[str, Path]):
    return load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0]
