"""Export of a model as an ONNX file, which runs without torch and ticketlab."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import inspect
import io
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.onnx_classifier import PARAMETERS
from ticketlab.core.errors import ResourceError, TicketlabError
from ticketlab.export.int8 import quantise

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TOLERANCE = 1e-4
"""The largest allowed difference of a logit from torch."""
PACKAGES = ("onnx", "onnxruntime", "onnxscript")


class ExportFailed(TicketlabError):
    """The exporter cannot convert this model to ONNX, or the file's logits differ from the model's."""


def check_packages() -> None:
    """Check that the packages of the extra ``onnx`` are installed.

    :raises ResourceError: one is missing.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise ResourceError(f'export as onnx needs the package {" and ".join(missing)}; `pip install "ticketlab[onnx]"`')


def write_onnx(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, path: Path, *, int8: bool = False) -> float:
    """Write ``model.onnx`` and compare it with the model under onnxruntime. Returns the largest difference of a logit.

    Inputs are int64 (batch, length), with the tokenizer's names; the output is ``logits`` (batch, labels). Batch size and length are
    dynamic; the length is at most the model's maximum. With ``int8`` the weights are quantised after the float32 file has been checked.

    :raises ResourceError: a package is missing.
    :raises ExportFailed: the exporter fails, or a logit differs by more than :data:`TOLERANCE`.
    """
    check_packages()
    longest = Backbone(model).max_length
    names = input_names(model, tokenizer)
    plain = copy.deepcopy(model).cpu().float().eval()
    try:
        with _silenced():
            _export(plain, names, longest, path)
            batches = [_batch(plain, names, rows, length) for rows, length in ((1, min(5, longest)), (3, min(17, longest)), (2, longest))]
            differences = _differences(plain, path, batches)
    except Exception as problem:  # the exporter and the runtime raise nothing more specific
        first = " ".join(str(problem).split())[:200]
        raise ExportFailed(f"{type(model).__name__} cannot be exported as onnx: {type(problem).__name__}: {first}") from problem
    largest = max(differences)
    if not largest <= TOLERANCE:  # NaN fails too
        raise ExportFailed(
            f"the logits of the exported onnx file differ from the model's by {largest:g}; the largest allowed difference is {TOLERANCE:g}"
        )
    if not int8:
        return largest
    try:
        with _silenced():
            quantise(path)
            differences = _differences(plain, path, batches)
    except Exception as problem:
        first = " ".join(str(problem).split())[:200]
        raise ExportFailed(f"{type(model).__name__} cannot be quantised: {type(problem).__name__}: {first}") from problem
    if not math.isfinite(max(differences)):
        raise ExportFailed("the logits of the quantised file are not finite numbers")
    return max(differences)


def input_names(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Return the outputs of the tokenizer that the model takes as inputs."""
    takes = inspect.signature(model.forward).parameters
    return [name for name in ("input_ids", "token_type_ids", "attention_mask") if name in takes and name in tokenizer.model_input_names]


class _Logits(nn.Module):
    """The model as a function of tensors in a fixed order."""

    def __init__(self, model: nn.Module, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs: Tensor) -> Tensor:
        logits: Tensor = self.model(**dict(zip(self.names, inputs, strict=True))).logits
        return logits


def _export(model: PreTrainedModel, names: Sequence[str], longest: int, path: Path) -> None:
    import onnx

    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=longest)
    example = tuple(_batch(model, names, 2, min(8, longest)).values())
    program = torch.onnx.export(
        _Logits(model, names).eval(),
        example,
        None,
        dynamo=True,
        input_names=list(names),
        output_names=["logits"],
        dynamic_shapes=(tuple({0: batch, 1: length} for _ in names),),
        verbose=False,
    )
    assert program is not None
    written = program.model_proto
    _remove_metadata(written)
    onnx.helper.set_model_props(written, {PARAMETERS: str(sum(parameter.numel() for parameter in model.parameters()))})
    onnx.save(written, str(path))


def _remove_metadata(written: Any) -> None:
    """Remove the exporter's metadata: each node has a stack trace with paths of this machine."""
    for graph in (written.graph, *written.functions):
        for item in (graph, *graph.node, *graph.value_info):
            del item.metadata_props[:]
    for item in (*written.graph.input, *written.graph.output, *written.graph.initializer):
        del item.metadata_props[:]


def _batch(model: PreTrainedModel, names: Sequence[str], rows: int, length: int) -> dict[str, Tensor]:
    """Return random tokens; of several rows, the second half of the last one is padding."""
    generator = torch.Generator().manual_seed(length)
    ids = torch.randint(0, model.config.vocab_size, (rows, length), generator=generator)
    padding = int(model.config.pad_token_id or 0)
    ids[ids == padding] = (padding + 1) % model.config.vocab_size
    attended = torch.ones_like(ids)
    if rows > 1:
        ids[-1, (length + 1) // 2 :] = padding
        attended[-1, (length + 1) // 2 :] = 0
    second = torch.zeros_like(ids)
    if getattr(model.config, "type_vocab_size", 0) > 1:
        second[:, length // 2 :] = 1
    inputs = {"input_ids": ids, "attention_mask": attended, "token_type_ids": second}
    return {name: inputs[name] for name in names}


@torch.inference_mode()
def _differences(model: PreTrainedModel, path: Path, batches: Sequence[dict[str, Tensor]]) -> list[float]:
    """Return the largest difference between the file's and torch's logits in each batch."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    differences = []
    for batch in batches:
        (logits,) = session.run(None, {name: tensor.numpy() for name, tensor in batch.items()})
        differences.append(float((torch.from_numpy(logits) - model(**batch).logits).abs().max()))
    return differences


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Suppress the exporter's output, log messages and warnings."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
