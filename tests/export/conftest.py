from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.small_exports import LABELS, ticket_for

from ticketlab.backbone.loading import load_classifier
from ticketlab.export.model import export_model

Classifier = Callable[[str], tuple[Any, Any]]


@pytest.fixture
def classifier(tiny: dict[str, Path]) -> Classifier:
    """Load the tiny model of a family with a classification head, and its tokenizer."""
    return lambda family: load_classifier(str(tiny[family]), LABELS, 0)


@pytest.fixture(scope="session")
def onnx_folder(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny BERT with a ticket, exported as ONNX."""
    model, tokenizer = load_classifier(str(tiny["bert"]), LABELS, 0)
    folder = tmp_path_factory.mktemp("exported") / "onnx"
    export_model(model, tokenizer, folder, "onnx", ticket=ticket_for(model))
    return folder


@pytest.fixture(scope="session")
def int8_folder(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny BERT with the same ticket, exported as an int8 ONNX file."""
    model, tokenizer = load_classifier(str(tiny["bert"]), LABELS, 0)
    folder = tmp_path_factory.mktemp("exported") / "int8"
    export_model(model, tokenizer, folder, "onnx-int8", ticket=ticket_for(model))
    return folder
