from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.shrinking import is_shrunk
from ticketlab.tickets.draw import draw, group_of
from ticketlab.tickets.ticket import Ticket

MISSING = [name for name in ("onnx", "onnxruntime", "onnxscript") if importlib.util.find_spec(name) is None]


@pytest.fixture
def classifier(tiny: dict[str, Path], tmp_path: Path) -> Path:
    """A finished classifier in a folder."""
    model, tokenizer = loading.load_classifier(str(tiny["bert"]), ("bad", "good"), 0)
    return loading.save(model, tokenizer, tmp_path / "classifier")


@pytest.fixture
def ticket(classifier: Path, tmp_path: Path) -> Any:
    """Write a ticket of some groups of units for the classifier."""

    def write(*groups: str) -> Path:
        backbone = Backbone(loading.load_finished(str(classifier))[0])
        generator = torch.Generator().manual_seed(0)
        units = {name: shape for name, shape in backbone.units().items() if group_of(name) in groups}
        masks = draw({name: torch.rand(shape, generator=generator) for name, shape in units.items()}, 0.5)
        path = tmp_path / f"{'-'.join(groups)}.safetensors"
        Ticket(masks, backbone.fingerprint(), "", backbone.weights_hash(), {"pruner": "random"}).save(path)
        return path

    return write


@pytest.mark.parametrize("format", ["dense", "shrunk"])
def test_export_with_a_structured_ticket(invoke: Any, classifier: Path, ticket: Any, tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    result = invoke("ticket", "export", classifier, "--ticket", ticket("heads", "neurons"), "--format", format, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == f"{out}: written\n"
    found = json.loads(result.stdout)
    assert found["folder"] == str(out)
    assert found["sparsity"] == {"heads": 0.5, "neurons": 0.5}
    model, _, names = loading.load_finished(str(out))
    assert names == ("bad", "good")
    assert is_shrunk(model) is (format == "shrunk")
    assert "pruner" in (out / "README.md").read_text(encoding="utf-8")


def test_sparsity_parameters_and_bytes_are_printed_separately(invoke: Any, classifier: Path, ticket: Any, tmp_path: Path) -> None:
    result = invoke("ticket", "export", classifier, "--ticket", ticket("weights"), "--format", "dense", "--out", tmp_path / "out")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: the ticket removes single weights")
    assert "neither faster nor smaller" in result.stderr
    lines = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert lines["sparsity of weights"] == "50.00 %"
    assert lines["bytes"].replace(",", "") == str((tmp_path / "out" / "model.safetensors").stat().st_size)
    assert "nonzero" in lines["parameters"]


@pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed")
def test_export_as_onnx(invoke: Any, classifier: Path, ticket: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = invoke("ticket", "export", classifier, "--ticket", ticket("heads"), "--format", "onnx", "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == f"{out}: written\n"
    assert json.loads(result.stdout)["largest_difference"] < 1e-4
    assert {path.name for path in out.iterdir()} >= {"README.md", "config.json", "model.onnx", "tokenizer.json"}


@pytest.mark.skipif(not MISSING, reason="the packages for onnx are installed")
def test_onnx_without_its_packages_says_what_to_install(invoke: Any, classifier: Path, tmp_path: Path) -> None:
    result = invoke("ticket", "export", classifier, "--format", "onnx", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert 'pip install "ticketlab[onnx]"' in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "options", "expected"),
    [
        pytest.param("nowhere/at/all", ["--format", "dense"], "nowhere/at/all", id="no folder"),
        pytest.param("{tmp}", ["--format", "dense"], "no config.json", id="not a model"),
        pytest.param("{encoder}", ["--format", "dense"], "an encoder without a classifier", id="encoder"),
        pytest.param("{classifier}", ["--format", "shrunk"], "give a ticket", id="no ticket to shrink by"),
        pytest.param("{classifier}", ["--format", "shrunk", "--ticket", "{weights}"], "single weights", id="single weights"),
        pytest.param("{classifier}", ["--format", "tflite"], "'tflite'", id="format"),
        pytest.param("{classifier}", [], "--format", id="no format"),
        pytest.param(
            "{classifier}", ["--format", "dense", "--ticket", "no.safetensors"], "no.safetensors: there is no such file", id="ticket"
        ),
        pytest.param("{distilbert}", ["--format", "dense", "--ticket", "{weights}"], "another structure", id="other structure"),
    ],
)
def test_a_failed_export_is_one_line(
    invoke: Any, classifier: Path, ticket: Any, tiny: dict[str, Path], tmp_path: Path, model: str, options: list[str], expected: str
) -> None:
    (tmp_path / "empty").mkdir()
    other, tokenizer = loading.load_classifier(str(tiny["distilbert"]), ("bad", "good"), 0)
    places = {
        "tmp": tmp_path / "empty",
        "encoder": tiny["bert"],
        "classifier": classifier,
        "weights": ticket("weights"),
        "distilbert": loading.save(other, tokenizer, tmp_path / "distilbert"),
    }
    arguments = [text.format_map(places) for text in (model, *options)]
    result = invoke("ticket", "export", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_refused(invoke: Any, classifier: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    result = invoke("ticket", "export", classifier, "--format", "dense", "--out", out)
    assert result.exit_code == 2
    assert "notes.txt" in result.stderr
    assert [path.name for path in out.iterdir()] == ["notes.txt"]


def test_the_model_itself_is_never_overwritten(invoke: Any, classifier: Path) -> None:
    result = invoke("ticket", "export", classifier, "--format", "dense", "--out", classifier)
    assert result.exit_code == 2
    assert "is MODEL itself" in result.stderr


def test_apply_can_shrink(invoke: Any, classifier: Path, ticket: Any, tmp_path: Path) -> None:
    out = tmp_path / "small"
    assert invoke("ticket", "apply", ticket("heads"), classifier, "--shrink", "--out", out).exit_code == 0
    assert is_shrunk(loading.load_finished(str(out))[0])


def test_apply_cannot_shrink_by_single_weights(invoke: Any, classifier: Path, ticket: Any, tmp_path: Path) -> None:
    result = invoke("ticket", "apply", ticket("weights"), classifier, "--shrink", "--out", tmp_path / "small")
    assert result.exit_code == 2
    assert "omit --shrink" in result.stderr
    assert not (tmp_path / "small").exists()
