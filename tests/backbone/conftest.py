from pathlib import Path

import pytest
from support.families import FAMILIES

from ticketlab.backbone.loading import load_classifier


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tiny: dict[str, Path]) -> Path:
    return tiny[request.param]


@pytest.fixture
def model(folder: Path):
    return load_classifier(str(folder), ("negative", "positive"), 0)[0]


@pytest.fixture
def bert(tiny: dict[str, Path]):
    return load_classifier(str(tiny["bert"]), ("negative", "positive"), 0)[0]
