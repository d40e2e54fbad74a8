"""A classifier exported as an ONNX file, with the interface of a transformers model, so that stages can measure it.

The file holds matrices and the operators that onnxruntime runs; loading it runs no code from it.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ticketlab.backbone import loading, model_config
from ticketlab.backbone import tokenizer as tokenizers
from ticketlab.backbone.model_files import INDEX, WEIGHTS
from ticketlab.backbone.weights import Warn
from ticketlab.core import files
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

FILE = "model.onnx"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PARAMETERS = "parameters"
"""The entry of the file's metadata with the number of parameters of the exported model."""


def is_onnx(folder: str | Path) -> bool:
    """Return whether a folder holds a model as an ONNX file, and not as a transformers model."""
    place = files.expand(folder)
    return (place / FILE).is_file() and not (place / WEIGHTS).exists() and not (place / INDEX).exists()


def load_measured(folder: str, warn: Warn = loading.python_warning) -> tuple[Any, PreTrainedTokenizerBase, tuple[str, ...]]:
    """Load a classifier to measure: a transformers model, or one that was exported as ONNX (:class:`OnnxClassifier`).

    Returns the model, its tokenizer and its label names; otherwise as :func:`ticketlab.backbone.loading.load_finished`.

    :raises ResourceError: it is an ONNX file, and onnxruntime is not installed.
    :raises UsageError: as ``load_finished``; or the file is damaged, or has other inputs than a tokenizer's.
    """
    if not is_onnx(folder):
        return loading.load_finished(folder, warn)
    if importlib.util.find_spec("onnxruntime") is None:
        raise ResourceError(f'{folder}: an exported ONNX file needs the package onnxruntime; `pip install "ticketlab[onnx]"`')
    source = loading.resolve_model(folder)
    integrity.check(Path(source))
    config = loading.load_config(folder, source)
    loading.check_single_label(folder, config)
    names = model_config.labels(folder, config)
    model = OnnxClassifier(Path(source) / FILE, config)
    tokenizer = tokenizers.load(folder, source, config, warn)
    tokenizers.drop_unused_inputs(tokenizer, model)
    loading.try_out(folder, model, tokenizer)
    return model, tokenizer, names


class OnnxClassifier(nn.Module):
    """The classifier in an ONNX file. It stays on the CPU, and each process opens the file for itself.

    The logits of a row do not depend on its batch: rows are computed one by one, without their padding, since dynamic quantisation scales
    the activations of a whole batch together.

    :raises UsageError: onnxruntime cannot open the file, or it takes other inputs than :data:`INPUTS`.
    """

    def __init__(self, path: Path, config: PretrainedConfig) -> None:
        super().__init__()
        self.path = path
        """The ONNX file."""
        self.config = config
        """The config of the exported model."""
        self.anchor = nn.Parameter(torch.zeros(()), requires_grad=False)  # tells callers the device
        """A parameter on the CPU, by which callers find the device."""
        self._session: tuple[int, Any] | None = None
        self.eval()
        unknown = [name for name in self.input_names if name not in INPUTS]
        if unknown or "input_ids" not in self.input_names:
            raise UsageError(f"{path}: takes {', '.join(self.input_names)}, and not the inputs of a classifier, {', '.join(INPUTS)}")

    @property
    def session(self) -> Any:
        """The onnxruntime session of this process."""
        if self._session is None or self._session[0] != os.getpid():  # its threads do not survive a fork
            self._session = os.getpid(), self._open()
        return self._session[1]

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [node.name for node in self.session.get_inputs()]

    @property
    def parameter_count(self) -> int | None:
        """The number of parameters of the exported model, None if the file does not tell."""
        known = self.session.get_modelmeta().custom_metadata_map.get(PARAMETERS, "")
        return int(known) if known.isdecimal() else None

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None) -> Any:
        """Return an object with the ``logits`` (rows, labels) of rows of tokens, each (rows, length)."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        logits = []
        for ids, attended, segments in zip(input_ids, mask, types, strict=True):
            kept = attended.bool()
            kept[0] |= not bool(kept.any())
            logits.append(self.run({name: part[kept][None] for name, part in zip(INPUTS, (ids, attended, segments), strict=True)}))
        return SimpleNamespace(logits=torch.cat(logits) if logits else torch.empty(0, self.config.num_labels))

    def run(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the logits (rows, labels) of a batch that is computed as a whole."""
        takes = self.input_names
        (logits, *_) = self.session.run(None, {name: tensor.cpu().numpy() for name, tensor in inputs.items() if name in takes})
        return torch.from_numpy(logits)

    def get_input_embeddings(self) -> nn.Module:
        """Refuse: without embeddings, batch-invariant inference runs the rows one by one."""
        raise NotImplementedError("an ONNX file does not tell which matrix has the embeddings")

    def _apply(self, fn: Any, recurse: bool = True) -> OnnxClassifier:
        """Stay on the CPU in float32, where the session is."""
        return self

    def _open(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = torch.get_num_threads()
        options.inter_op_num_threads = 1
        try:
            return onnxruntime.InferenceSession(str(self.path), options, providers=["CPUExecutionProvider"])
        except Exception as problem:  # onnxruntime raises nothing more specific
            first = " ".join(str(problem).split())[:150]
            raise UsageError(f"{self.path}: onnxruntime cannot open it ({first}); export the model again") from None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_session": None}
