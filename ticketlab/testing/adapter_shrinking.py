"""The conformance tests of adapters about shrinking: a smaller model computes what a masked one does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier, load_finished, load_tokenizer, save
from ticketlab.backbone.onnx_classifier import load_measured
from ticketlab.backbone.shrinking import masks_of, shrink, unshrink
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.export.model import export_model
from ticketlab.export.onnx import check_packages
from ticketlab.testing.adapter_suite import AdapterSuite, no_warning, tiny_of
from ticketlab.testing.models.example_masks import random_masks, structured_units, tickets
from ticketlab.testing.models.noisy_model import LABELS, ROUNDING, differing_tensor, loss_gradients, quiet_logits, same
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.reported_errors import reported_errors
from ticketlab.testing.trials.workspace import Workspace

TEXT = "the film was not good at all"


class AdapterShrinkingTests(AdapterSuite):
    """Part of :class:`ticketlab.testing.AdapterTests`."""

    def test_a_shrunk_model_computes_what_a_masked_one_does(self, folder: Path) -> None:
        """For random tickets, and for layers without heads or neurons, with each implementation of attention."""
        model = self._to_shrink(folder)
        for attention in ("eager", "sdpa") if model is not None else ():
            try:
                model.set_attn_implementation(attention)
            except (AttributeError, ValueError):
                continue  # the family has no such implementation
            backbone, whole = self._backbone(folder, model), quiet_logits(model)
            for what, masks in tickets(backbone):
                with reported_errors():
                    small = shrink(model, masks)
                computed = quiet_logits(small)
                require(
                    same(computed, quiet_logits(self._masked(model, masks)), whole),
                    f"a model shrunk by a ticket {what} computes something else than a masked one ({attention} attention): see "
                    "`head_slices`, `neuron_slices`, `per_head`, `per_head_inputs` and `without_heads`",
                )
                restored = quiet_logits(unshrink(small))
                require(same(restored, computed, whole), f"a shrunk model that is restored to full size differs (a ticket {what})")

    def test_kept_units_have_the_gradients_of_the_masked_model(self, folder: Path) -> None:
        """Retraining a shrunk model is retraining the ticket."""
        model = self._to_shrink(folder)
        if model is None:
            return
        masks = random_masks(self._backbone(folder, model), 0)
        reference = self._masked(model, masks)
        wanted = loss_gradients(reference)
        with torch.no_grad():
            for name, parameter in reference.named_parameters():
                parameter.copy_(wanted[name])
        kept = dict(shrink(reference, masks).named_parameters())  # the gradients, cut like the weights
        for name, gradient in loss_gradients(shrink(model, masks)).items():
            close = torch.allclose(gradient, kept[name], rtol=1e-3, atol=ROUNDING)
            require(close, f"the gradient of `{name}` in a shrunk model is not that of the masked one")

    def test_layers_without_units_can_be_trained(self, folder: Path) -> None:
        """With dropout: ``without_heads`` returns what the attention module would, for each row."""
        model = self._to_shrink(folder)
        if model is None:
            return
        backbone = self._backbone(folder, model)
        none = {name: torch.zeros(shape, dtype=torch.bool) for name, shape in structured_units(backbone).items()}
        with reported_errors():
            small = shrink(model, none).train()
        gradients = loss_gradients(small)
        require(
            all(bool(gradient.isfinite().all()) for gradient in gradients.values()) and any(bool(g.any()) for g in gradients.values()),
            "a model whose layers have no heads and neurons has no finite gradients in training mode: see `without_heads`",
        )

    def test_a_shrunk_model_is_saved_and_loaded(self, folder: Path, tmp_path: Path) -> None:
        """As a finished model, as the start of a training, and restored to full size for transformers alone."""
        model = self._to_shrink(folder)
        if model is None:
            return
        small = shrink(model, random_masks(self._backbone(folder, model), 0))
        tokenizer = load_tokenizer(str(folder), no_warning)
        place = str(save(small, tokenizer, tmp_path / "small"))
        finished, read, names = load_finished(place, no_warning)
        start, _ = load_classifier(place, LABELS, 9, no_warning)
        require(names == LABELS, f"the labels of a shrunk model that was saved are {names}, not {LABELS}")
        require(read(TEXT)["input_ids"] == tokenizer(TEXT)["input_ids"], "the tokenizer of a shrunk model differs from the original")
        for loaded in (finished, start):
            differs = differing_tensor(small.state_dict(), loaded.state_dict())
            require(not differs, f"`{differs}` of a shrunk model has other bits after loading")
            require(
                torch.allclose(quiet_logits(loaded), quiet_logits(small), rtol=0, atol=ROUNDING), "a shrunk model differs after loading"
            )
            require(not differing_tensor(masks_of(small), masks_of(loaded)), "a shrunk model keeps other units after loading")
        save(unshrink(finished), tokenizer, tmp_path / "full")
        plain = type(model).from_pretrained(tmp_path / "full").eval()
        require(
            torch.allclose(quiet_logits(plain), quiet_logits(small), rtol=0, atol=ROUNDING),
            "a shrunk model, restored to full size and loaded by transformers, computes something else",
        )

    def test_a_shrunk_model_is_exported_to_onnx(self, workspace: Workspace, tmp_path: Path) -> None:
        """The logits of the file are compared with those of torch. This takes seconds, so only the first model is exported."""
        try:
            check_packages()
        except ResourceError as missing:
            pytest.skip(str(missing))
        folder = tiny_of(workspace, self._models_to_try()[0])
        model = self._to_shrink(folder)
        if model is None:
            return
        _, _, (_, masks), _ = tickets(self._backbone(folder, model))
        tokenizer = self._tokenizer_for(folder)
        with reported_errors():
            export_model(shrink(model, masks), tokenizer, tmp_path / "onnx", "onnx")
        rows = dict(tokenizer([TEXT, "good"], padding=True, return_tensors="pt"))
        with torch.inference_mode():
            wanted = self._masked(model, masks)(**rows).logits
            exported = load_measured(str(tmp_path / "onnx"), no_warning)[0](**rows).logits
        require(torch.allclose(exported, wanted, rtol=0, atol=1e-4), "the logits of the exported file are not those of the masked model")

    def _to_shrink(self, folder: Path) -> Any:
        """Return a model; None, once it is shown that it is refused, if the adapter says that it cannot be shrunk."""
        with reported_errors():
            model = self._noisy(folder)
        if self.component.attention:
            return model
        with pytest.raises(UsageError, match="names no attention module"):
            shrink(model, {"heads/0": torch.ones(Backbone(model).units()["heads/0"], dtype=torch.bool)})
        return None
