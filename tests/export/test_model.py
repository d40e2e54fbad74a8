"""Masked, shrunk, reloaded and exported models compute the same logits."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import evolve
from support.families import FAMILIES
from support.small_exports import LABELS, TEXTS, logits, needs_onnx, onnx_logits, ticket_for

import ticketlab
from ticketlab.backbone import masks
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished
from ticketlab.backbone.shrinking import is_shrunk
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.export import onnx
from ticketlab.export.model import export_model
from ticketlab.export.provenance import Provenance
from ticketlab.tickets.ticket import Ticket


@pytest.mark.parametrize("kind", ["uneven", "empty"])
@pytest.mark.parametrize("family", FAMILIES)
def test_masked_shrunk_and_exported_models_have_equal_logits(family: str, kind: str, classifier: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    model, tokenizer = classifier(family)
    ticket = ticket_for(model, kind)
    untouched = logits(model, tokenizer)
    masked = copy.deepcopy(model)
    ticket.apply(masked)
    expected = logits(masked, tokenizer)
    assert not torch.allclose(expected, untouched, atol=1e-4)

    small = ticket.shrink(model)
    assert torch.allclose(logits(small, tokenizer), expected, atol=1e-5)
    dense = export_model(model, tokenizer, tmp_path / "dense", "dense", ticket=ticket)
    shrunk = export_model(model, tokenizer, tmp_path / "shrunk", "shrunk", ticket=ticket)
    assert torch.equal(logits(model, tokenizer), untouched)

    plain, found = AutoModelForSequenceClassification.from_pretrained(tmp_path / "dense", output_loading_info=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    assert torch.allclose(logits(plain, tokenizer), expected, atol=1e-5)
    reloaded, _, names = load_finished(str(tmp_path / "shrunk"))
    assert is_shrunk(reloaded)
    assert names == LABELS
    assert torch.allclose(logits(reloaded, tokenizer), expected, atol=1e-5)

    again = export_model(reloaded, tokenizer, tmp_path / "again", "dense")
    assert torch.allclose(logits(load_finished(str(tmp_path / "again"))[0], tokenizer), expected, atol=1e-5)
    assert dense.parameters == again.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert shrunk.parameters == sum(parameter.numel() for parameter in small.parameters()) < dense.parameters
    assert shrunk.bytes == (tmp_path / "shrunk" / "model.safetensors").stat().st_size < dense.bytes
    assert shrunk.sparsity == dense.sparsity == {group: ticket.sparsity(group) for group in ("heads", "neurons")}


@needs_onnx
def test_the_onnx_file_has_the_logits_of_the_masked_model(classifier: Any, tmp_path: Path) -> None:
    """The conformance tests of adapters export further families."""
    model, tokenizer = classifier("bert")
    ticket = ticket_for(model, "empty")
    masked = copy.deepcopy(model)
    ticket.apply(masked)
    done = export_model(model, tokenizer, tmp_path / "onnx", "onnx", ticket=ticket)
    assert done.largest_difference is not None
    assert done.largest_difference < 1e-4
    assert done.parameters == sum(parameter.numel() for parameter in ticket.shrink(model).parameters())
    for texts in (TEXTS, TEXTS[:1], TEXTS * 5, ["good " * 300]):
        cut = [tokenizer.decode(tokenizer(text, truncation=True, max_length=100)["input_ids"], skip_special_tokens=True) for text in texts]
        assert torch.allclose(onnx_logits(tmp_path / "onnx", tokenizer, cut), logits(masked, tokenizer, cut), atol=1e-4)


@needs_onnx
def test_a_dense_model_exports_as_onnx_without_output_or_warnings(
    classifier: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model, tokenizer = classifier("bert")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = export_model(model, tokenizer, tmp_path / "onnx", "onnx")
    assert capfd.readouterr() == ("", "")
    assert done.sparsity == {}
    assert torch.allclose(onnx_logits(tmp_path / "onnx", tokenizer), logits(model, tokenizer), atol=1e-4)


@needs_onnx
def test_the_onnx_folder_works_without_ticketlab_and_torch(classifier: Any, onnx_folder: Path) -> None:
    model, tokenizer = classifier("bert")
    code = f"""
import json, sys
sys.modules.update(dict.fromkeys(("ticketlab", "torch")))
import onnxruntime
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file("tokenizer.json")
encoded = tokenizer.encode({TEXTS[1]!r})
values = dict(input_ids=encoded.ids, attention_mask=encoded.attention_mask, token_type_ids=encoded.type_ids)
import numpy
session = onnxruntime.InferenceSession("model.onnx")
logits = session.run(None, {{node.name: numpy.array([values[node.name]], dtype="int64") for node in session.get_inputs()}})[0]
print(json.dumps(dict(logits=logits[0].tolist(), labels=json.load(open("config.json"))["id2label"])))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=onnx_folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["labels"] == {"0": "bad", "1": "good"}
    expected = logits(ticket_for(model).shrink(model), tokenizer, TEXTS[1:2])[0]
    assert torch.allclose(torch.tensor(found["logits"]), expected, atol=1e-4)


@needs_onnx
def test_the_onnx_file_contains_no_local_paths(onnx_folder: Path) -> None:
    content = (onnx_folder / "model.onnx").read_bytes()
    assert b".py" not in content
    assert sys.prefix.encode() not in content


@needs_onnx
def test_an_onnx_file_with_wrong_logits_is_an_error_and_removed(
    classifier: Any, onnx_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = classifier("bert")
    monkeypatch.setattr(onnx, "_export", lambda *arguments: shutil.copy(onnx_folder / "model.onnx", arguments[-1]))  # of a pruned model
    with pytest.raises(onnx.ExportFailed, match="the logits of the exported onnx file differ"):
        export_model(model, tokenizer, tmp_path / "onnx", "onnx")
    assert list(tmp_path.iterdir()) == []


def test_missing_onnx_packages_are_an_error_with_the_pip_command(classifier: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = classifier("bert")
    monkeypatch.setattr(onnx.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ResourceError, match=r'pip install "ticketlab\[onnx\]"'):
        export_model(model, tokenizer, tmp_path / "onnx", "onnx")


def test_a_ticket_of_single_weights_warns_that_the_model_is_no_faster(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    ticket = ticket_for(model, "weights")
    with pytest.warns(UserWarning, match="neither faster nor smaller"):
        done = export_model(model, tokenizer, tmp_path / "dense", "dense", ticket=ticket)
    reloaded, _, _ = load_finished(str(tmp_path / "dense"))
    assert all(not torch.any(Backbone(reloaded).weight(name)[~mask]) for name, mask in ticket.masks.items())
    assert done.sparsity == {"weights": 0.5}
    assert done.nonzero <= done.parameters - (ticket.total() - ticket.kept())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param("weights", "single weights does not make the model smaller", id="weights"),
        pytest.param(None, "give a ticket", id="no ticket"),
    ],
)
def test_shrunk_without_heads_or_neurons_to_remove_is_an_error(classifier: Any, tmp_path: Path, kind: str | None, expected: str) -> None:
    model, tokenizer = classifier("bert")
    with pytest.raises(UsageError, match=expected):
        export_model(model, tokenizer, tmp_path / "shrunk", "shrunk", ticket=ticket_for(model, kind) if kind else None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["uneven", "weights"])
def test_only_a_ticket_of_heads_and_neurons_can_shrink(classifier: Any, kind: str) -> None:
    model, _ = classifier("bert")
    ticket = ticket_for(model, kind)
    if kind == "weights":
        with pytest.raises(UsageError, match="single weights"):
            ticket.shrink(model)
    else:
        assert is_shrunk(ticket.shrink(model))


def test_applying_a_ticket_of_other_weights_warns_and_shrinking_a_masked_model_does_not(classifier: Any) -> None:
    model, _ = classifier("bert")
    ticket = ticket_for(model)
    torch.nn.init.ones_(Backbone(model).layers[0].query.weight)
    with pytest.warns(UserWarning, match="other weights"):
        ticket.apply(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ticket.shrink(model)


@pytest.mark.parametrize(("kind", "total"), [("keep all", 8), ("keep none", 0)])
def test_tickets_that_keep_all_or_no_units_can_be_exported(classifier: Any, tmp_path: Path, kind: str, total: int) -> None:
    model, tokenizer = classifier("bert")
    drawn = ticket_for(model)
    masks = {name: torch.full_like(mask, kind == "keep all") for name, mask in drawn.masks.items()}
    ticket = Ticket(masks, drawn.structure, "", "")
    export_model(model, tokenizer, tmp_path / "shrunk", "shrunk", ticket=ticket)
    ticket.apply(model)
    reloaded, _, _ = load_finished(str(tmp_path / "shrunk"))
    assert sum(shape[0] for name, shape in Backbone(reloaded).units().items() if name.startswith("heads/")) == total
    assert torch.allclose(logits(reloaded, tokenizer), logits(model, tokenizer), atol=1e-5)


def test_a_model_trained_with_a_ticket_is_shrunk_by_the_ticket_in_its_provenance(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    ticket = ticket_for(model)
    ticket.apply(model)
    export_model(model, tokenizer, tmp_path / "shrunk", "shrunk", provenance=Provenance(ticket=ticket))
    assert is_shrunk(load_finished(str(tmp_path / "shrunk"))[0])


@pytest.mark.parametrize("labels", [LABELS, ("a", "b", "c")])
def test_the_classifier_that_a_ticket_was_not_found_with_is_exported_as_it_is(
    labels: Sequence[str], tiny: dict[str, Path], classifier: Any, tmp_path: Path
) -> None:
    model, tokenizer = load_classifier(str(tiny["bert"]), labels, 1)
    ticket = ticket_for(classifier("bert")[0], "weights")
    found_with = torch.arange(2 * model.config.hidden_size).reshape(2, -1) % 2 == 0
    ticket = evolve(
        ticket, masks={**ticket.masks, "weights/classifier.weight": found_with}, head={"classifier.weight": torch.ones(found_with.shape)}
    )
    masks.zero_removed(Backbone(model), ticket.masks_on(Backbone(model)))
    with pytest.warns(UserWarning, match="single weights"):
        export_model(model, tokenizer, tmp_path / "dense", provenance=Provenance(ticket=ticket))
    exported = load_finished(str(tmp_path / "dense"))[0]
    assert torch.equal(exported.classifier.weight, model.classifier.weight)


def test_a_ticket_in_the_provenance_is_ignored_if_it_is_not_applied(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    done = export_model(model, tokenizer, tmp_path / "dense", provenance=Provenance(ticket=ticket_for(model)))
    assert done.sparsity == {}


def test_a_shrunk_model_accepts_only_its_own_ticket(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    ticket = ticket_for(model)
    small = ticket.shrink(model)
    export_model(small, tokenizer, tmp_path / "shrunk", "shrunk", ticket=ticket)
    with pytest.raises(UsageError, match="already been shrunk"):
        export_model(small, tokenizer, tmp_path / "other", "shrunk", ticket=ticket_for(model, seed=1))


@pytest.mark.parametrize("format", ["dense", "shrunk", "onnx"])
def test_another_ticket_for_a_shrunk_model_is_an_error_even_if_its_own_is_known(format: Any, classifier: Any, tmp_path: Path) -> None:
    if format == "onnx":
        pytest.importorskip("onnxruntime")
    model, tokenizer = classifier("bert")
    own = ticket_for(model)
    with pytest.raises(UsageError, match="already been shrunk by another ticket"):
        export_model(
            own.shrink(model), tokenizer, tmp_path / "x", format, ticket=ticket_for(model, seed=1), provenance=Provenance(ticket=own)
        )
    assert not (tmp_path / "x").exists()


def test_an_earlier_export_is_replaced_but_not_a_folder_with_other_files(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    folder = tmp_path / "dense"
    export_model(model, tokenizer, folder)
    export_model(model, tokenizer, folder, ticket=ticket_for(model))
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        export_model(model, tokenizer, folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dense"]


def test_a_foreign_readme_is_not_overwritten(classifier: Any, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"README\.md"):
        export_model(*classifier("bert"), tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_exports_contain_no_pickle_files(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    export_model(model, tokenizer, tmp_path / "dense", "dense", ticket=ticket_for(model))
    export_model(model, tokenizer, tmp_path / "shrunk", "shrunk", ticket=ticket_for(model))
    kinds = {path.suffix for path in tmp_path.glob("*/*")}
    assert kinds <= {".safetensors", ".json", ".md", ".txt", ".jinja"}


def test_an_unknown_format_suggests_the_nearest(classifier: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean `onnx`"):
        export_model(*classifier("bert"), tmp_path / "x", "onx")
    assert ticketlab.export_model is export_model
