from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_exports import LABELS

from ticketlab.backbone.loading import load_classifier

Classifier = Callable[[str], tuple[Any, Any]]


@pytest.fixture
def classifier(tiny: dict[str, Path]) -> Classifier:
    """Load the tiny model of a family with a head, and its tokenizer."""
    return lambda family: load_classifier(str(tiny[family]), LABELS, 0)
