from pathlib import Path

import pytest

from ticketlab.backbone.loading import load_classifier

FAMILIES = ("bert", "roberta", "electra", "distilbert", "deberta-v2")


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tiny: dict[str, Path]) -> Path:
    return tiny[request.param]


@pytest.fixture
def model(folder: Path):
    return load_classifier(str(folder), ("negative", "positive"), 0)[0]


@pytest.fixture
def bert(tiny: dict[str, Path]):
    return load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0]
