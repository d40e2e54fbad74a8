"""Checkpoints of a training run: everything that the next step depends on, in one safetensors file, never pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import frozen
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ticketlab.core import disk_and_memory, files
from ticketlab.core.callback import Callback
from ticketlab.core.progress import warn
from ticketlab.inference import random_state
from ticketlab.training import checksum

CHECKSUM = "checksum"


@frozen
class Checkpoint:
    """The checkpoint file of a training run. ``progress`` is JSON: the step, the smoothed loss, the history and the times so far."""

    path: Path

    def save(self, optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback], progress: Mapping[str, Any]) -> None:
        """Write the optimizer's parameters and state, and the states of the callbacks and random generators, atomically."""
        self.write(state_tensors(optimizer, callbacks), progress)

    def write(self, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
        """Write what :func:`state_tensors` returned, atomically."""
        plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        text = json.dumps(dict(progress))
        metadata = {"progress": text, CHECKSUM: checksum.of_tensors(plain, text=text)}
        files.write_atomic(self.path, lambda temporary: save_file(plain, temporary, metadata=metadata))

    def load(self, optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback]) -> dict[str, Any] | None:
        """Restore everything and return the progress; None if there is no checkpoint. A damaged one is removed with a warning."""
        content = self._read()
        if content is None:
            return None
        tensors, progress = content
        restore_tensors(tensors, optimizer, callbacks)
        return progress

    def step(self) -> int:
        """Return the number of optimizer steps done at the checkpoint; 0 if there is none or it is damaged."""
        try:
            with safe_open(self.path, framework="pt") as file:
                return int(json.loads(file.metadata()["progress"])["step"])
        except (OSError, SafetensorError, KeyError, ValueError, TypeError):
            return 0

    def _read(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
                metadata = file.metadata()
            text = metadata["progress"]
            if metadata.get(CHECKSUM) not in (None, checksum.of_tensors(tensors, text=text)):  # earlier versions wrote none
                raise ValueError("its checksum does not match")
            progress: dict[str, Any] = json.loads(text)
        except (SafetensorError, KeyError, TypeError, ValueError) as problem:
            if disk_and_memory.kind(problem):
                raise
            warn(f"{self.path}: the checkpoint is damaged ({problem}), so training starts over")
            self.remove()
            return None
        return tensors, progress

    def remove(self) -> None:
        """Delete the file if it exists."""
        self.path.unlink(missing_ok=True)


def state_tensors(optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback]) -> dict[str, Tensor]:
    """Return the optimizer's parameters and state, and the states of the callbacks and random generators, by name."""
    tensors: dict[str, Tensor] = {}
    for index, parameter in enumerate(_parameters(optimizer)):
        tensors[f"parameter/{index}"] = parameter.detach()
        for name, value in optimizer.state.get(parameter, {}).items():
            tensors[f"moment/{index}/{name}"] = torch.as_tensor(value)
    for index, callback in enumerate(callbacks):
        tensors |= {f"live/{index}/{name}": value for name, value in callback.state_dict().items()}
    return tensors | {f"random/{name}": state for name, state in random_state.capture().items()}


def restore_tensors(tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback]) -> None:
    """Restore what :func:`state_tensors` returned."""
    for index, parameter in enumerate(_parameters(optimizer)):
        with torch.no_grad():
            parameter.copy_(tensors[f"parameter/{index}"])
        moments = {name.split("/")[2]: value for name, value in tensors.items() if name.startswith(f"moment/{index}/")}
        if moments:
            optimizer.state[parameter] = {name: value.to(_device(name, parameter, optimizer)) for name, value in moments.items()}
    for index, callback in enumerate(callbacks):
        prefix = f"live/{index}/"
        callback.load_state_dict({name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)})
    random_state.restore({name.removeprefix("random/"): value for name, value in tensors.items() if name.startswith("random/")})


def _parameters(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _device(name: str, parameter: Tensor, optimizer: torch.optim.Optimizer) -> torch.device:
    """Optimizers keep the step counter on the CPU unless they are fused."""
    fused = any(group.get("fused") for group in optimizer.param_groups)
    return parameter.device if fused or name != "step" else torch.device("cpu")
