"""measure: size on disk, parameters and latency of a model."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from attrs import frozen

from ticketlab.backbone.device import pick_device, threads
from ticketlab.backbone.onnx_classifier import OnnxClassifier, load_measured
from ticketlab.core.errors import SettingError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import reference, setting
from ticketlab.inference.victim import longest_input
from ticketlab.stages.base import MEASURED, MODEL_HELP, Context, Stage
from ticketlab.stages.search import check_leaves_model
from ticketlab.tasks import trained_on
from ticketlab.training.latency import seconds_per_pass

WEIGHT_FILES = (".safetensors", ".onnx", ".data")


@frozen
class Measure(Stage):
    """Measure the bytes of a model's weights on disk, its parameters, and the seconds of a forward pass for each size of batch.

    The latency is the median of ``repeats`` passes after a warm-up, on rows of ``length`` random tokens. It depends on the machine. Masked
    weights count as parameters: zeros are stored and multiplied like other numbers.
    """

    name: ClassVar[str] = "measure"
    summary: ClassVar[str] = "size, parameters and latency of a model"
    seeded: ClassVar[bool] = False
    measures_model: ClassVar[bool] = True
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("model",)

    model: str = reference("train", accepts=MEASURED, help=MODEL_HELP)
    length: int = setting(128, at_least=1, unit="tokens", help="length of the rows, at most the maximum of the model")
    batch_sizes: tuple[int, ...] = setting((1, 32), at_least=1, unit="rows", help="sizes of batches whose latency is measured")
    repeats: int = setting(20, at_least=1, unit="passes", help="timed passes for each size of batch")
    device: Literal["cpu", "auto"] = setting(
        "cpu", choices=("cpu", "auto"), help="where the passes run; auto: on the GPU if there is one. An ONNX file always runs on the CPU"
    )
    threads: int = setting(1, at_least=1, help="threads of a forward pass on the CPU")

    @property
    def uses_task(self) -> bool:
        """False: the rows are random tokens."""
        return False

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a search that produces no model, and a size that is named twice; see :meth:`Stage.check`."""
        check_leaves_model(named)
        if len(set(self.batch_sizes)) < len(self.batch_sizes):
            raise SettingError(f"batch_sizes: must be different from one another, not {', '.join(map(str, self.batch_sizes))}")

    def run(self, context: Context) -> dict[str, Any]:
        """Measure; see :meth:`Stage.run`."""
        place = context.inputs["model"].model
        with threads(self.threads):
            model, tokenizer, _ = load_measured(place, context.warn_of_input)
            model.to(pick_device() if self.device == "auto" else torch.device("cpu"))
            length = min(self.length, longest_input(model, tokenizer))
            timed = {
                size: seconds_per_pass(model, tokenizer, batch_size=size, length=length, repeats=self.repeats) for size in self.batch_sizes
            }
        device = next(model.parameters()).device.type
        on = f"on the {device.upper()}" if device != "cpu" else f"on the CPU with {counted(self.threads, 'thread')}"
        numbers = {
            "bytes": bytes_of_weights(place),
            "parameters": parameters_of(model),
            **{f"latency_{size}": statistics.median(seconds) for size, seconds in timed.items()},
        }
        return {
            "measure": {
                "device": device,
                "threads": self.threads,
                "length": length,
                "passes": {str(size): seconds for size, seconds in timed.items()},
            },
            "numbers_note": f"latency: the median of {counted(self.repeats, 'pass', 'passes')} of rows of {counted(length, 'token')}, {on}",
            "numbers": {name: value for name, value in numbers.items() if value is not None},
        }


def bytes_of_weights(place: str) -> int | None:
    """Return the bytes of the files of weights in a model's folder; None if it is not a folder."""
    if not Path(place).is_dir():
        return None
    return sum(file.stat().st_size for file in Path(place).iterdir() if file.suffix in WEIGHT_FILES and file.name != trained_on.FILE)


def parameters_of(model: Any) -> int | None:
    """Return the number of parameters of a model, shared ones once; None for an ONNX file that does not tell."""
    if isinstance(model, OnnxClassifier):
        return model.parameter_count
    return int(sum(parameter.numel() for parameter in model.parameters()))
