"""An exported ONNX file is measured like the model that it was exported from."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.small_exports import LABELS, TEXTS, logits, needs_onnx, ticket_for

import ticketlab
from ticketlab.backbone import fingerprint, onnx_classifier
from ticketlab.backbone.loading import load_classifier, load_finished
from ticketlab.backbone.onnx_classifier import OnnxClassifier, is_onnx, load_measured
from ticketlab.core.errors import ResourceError, SettingError, UsageError
from ticketlab.inference.victim import Victim
from ticketlab.recipes.measured_model import MeasuredModel
from ticketlab.recipes.single_stage import one_stage
from ticketlab.runs.run import run
from ticketlab.stages.measure import bytes_of_weights, parameters_of
from ticketlab.tasks.base import Example
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict

pytestmark = needs_onnx
TASK = DemoTask(rows=48, dev_rows=12, test_rows=16)
LABEL_MAP = ["bad=negative", "good=positive"]


@pytest.fixture(params=["fp32", "int8"])
def folder(request: pytest.FixtureRequest, onnx_folder: Path, int8_folder: Path) -> Path:
    return onnx_folder if request.param == "fp32" else int8_folder


@pytest.fixture(scope="module")
def small(tiny: dict[str, Path]) -> Any:
    """The shrunk torch model that the files were exported from."""
    model, _ = load_classifier(str(tiny["bert"]), LABELS, 0)
    return ticket_for(model).shrink(model)


def test_it_has_the_logits_labels_and_limits_of_the_torch_model(folder: Path, small: Any) -> None:
    model, tokenizer, names = load_measured(str(folder))
    assert names == LABELS
    assert tokenizer.model_max_length == 128
    victim = Victim(model, tokenizer, names, max_length=500)
    assert victim.max_length == 128
    expected = Victim(small, tokenizer, names, max_length=500)
    inputs: tuple[Any, ...] = ([*TEXTS, "good " * 300], [("one text", "and another")])
    difference = max(float((victim(texts) - expected(texts)).abs().max()) for texts in inputs)
    assert difference < 1e-4 if "int8" not in folder.name else 1e-5 < difference < 0.1


def test_the_logits_of_a_text_do_not_depend_on_its_batch(folder: Path) -> None:
    model, tokenizer, names = load_measured(str(folder))
    victim = Victim(model, tokenizer, names)
    together = victim(TEXTS)
    assert torch.equal(together, torch.cat([victim([text]) for text in TEXTS]))
    rows = tokenize([Example(str(number), (text,), 0) for number, text in enumerate(TEXTS)], tokenizer, 128)
    assert torch.equal(predict(model, rows, batch_size=len(TEXTS)), together)  # which pads


def test_int8_files_store_matrices_as_integers(int8_folder: Path, onnx_folder: Path, small: Any) -> None:
    import onnx

    sizes = {place: (place / "model.onnx").stat().st_size for place in (int8_folder, onnx_folder)}
    assert sizes[int8_folder] < 0.55 * sizes[onnx_folder]
    stored = onnx.load(str(int8_folder / "model.onnx")).graph.initializer
    assert {entry.data_type for entry in stored if len(entry.dims) == 2 and min(entry.dims) > 4} <= {
        onnx.TensorProto.INT8,
        onnx.TensorProto.UINT8,
    }
    seven_bits = [
        onnx.numpy_helper.to_array(entry) for entry in stored if entry.data_type == onnx.TensorProto.INT8 and len(entry.dims) == 2
    ]
    assert max(int(abs(matrix).max()) for matrix in seven_bits) <= 64
    assert sorted(path.suffix for path in int8_folder.iterdir()) == [".json"] * 4 + [".md", ".onnx"]


def test_size_and_parameters_are_those_of_the_exported_model(folder: Path, small: Any) -> None:
    model, _, _ = load_measured(str(folder))
    assert isinstance(model, OnnxClassifier)
    assert parameters_of(model) == sum(parameter.numel() for parameter in small.parameters())
    assert bytes_of_weights(str(folder)) == (folder / "model.onnx").stat().st_size


def test_a_copy_in_another_process_opens_the_file_again(onnx_folder: Path) -> None:
    model, tokenizer, _ = load_measured(str(onnx_folder))
    copied = pickle.loads(pickle.dumps(model))
    assert torch.equal(logits(copied, tokenizer), logits(model, tokenizer))


def test_a_stage_evaluates_and_attacks_it(onnx_folder: Path, small: Any, tmp_path: Path) -> None:
    done = ticketlab.evaluate(onnx_folder, tasks=TASK, label_map=LABEL_MAP, max_length=48, lab=tmp_path / "lab")
    _, tokenizer, _ = load_measured(str(onnx_folder))
    examples = TASK.load().splits["test"]
    expected = logits(small, tokenizer, [example.texts[0] for example in examples]).argmax(dim=1)
    assert done.metrics()["accuracy"] == pytest.approx(sum(int(a) == b.label for a, b in zip(expected, examples, strict=True)) / 16)
    settings = {"attacks": [{"name": "deepwordbug"}], "precision": "bf16", "label_map": LABEL_MAP}
    recipe = one_stage("attack", MeasuredModel("m", str(onnx_folder)), [TASK], settings, [])
    with pytest.raises(SettingError, match=r"^attack.precision: an ONNX file has its own precision"):
        run(recipe, tmp_path / "lab")


def test_its_fingerprint_is_that_of_its_content(onnx_folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(onnx_folder, tmp_path / "copy")
    assert fingerprint.of_model(str(copied)) == fingerprint.of_model(str(onnx_folder))
    with (copied / "model.onnx").open("ab") as file:
        file.write(b"\0")
    assert fingerprint.of_model(str(copied)) != fingerprint.of_model(str(onnx_folder))


def test_without_onnxruntime_one_line_says_what_to_install(onnx_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_classifier.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResourceError, match=r'needs the package onnxruntime; `pip install "ticketlab\[onnx\]"`$'):
        load_measured(str(onnx_folder))


def test_a_damaged_file_is_refused(onnx_folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(onnx_folder, tmp_path / "copy")
    (copied / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UsageError, match=r"model.onnx: onnxruntime cannot open it \([^\n]*\); export the model again$"):
        load_measured(str(copied))


def test_it_cannot_be_trained_and_a_torch_model_beside_it_comes_first(onnx_folder: Path, small: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is a model for onnxruntime"):
        load_finished(str(onnx_folder))
    copied = shutil.copytree(onnx_folder, tmp_path / "copy")
    (copied / "model.safetensors").write_bytes(b"")
    assert (is_onnx(onnx_folder), is_onnx(copied)) == (True, False)
