"""Checkpoints of a training run: everything that the next step depends on, in one safetensors file, never pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from ticketlab.core.callback import Callback
from ticketlab.core.progress import warn
from ticketlab.inference import random_state
from ticketlab.training import checked_file

PROGRESS = "progress"


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
        checked_file.write(self.path, plain, PROGRESS, dict(progress))

    def load(self, optimizer: torch.optim.Optimizer, callbacks: Sequence[Callback]) -> dict[str, Any] | None:
        """Restore everything and return the progress; None if there is no checkpoint. A damaged one is removed with a warning."""
        try:
            content = checked_file.read(self.path, PROGRESS)
        except ValueError as problem:
            warn(f"{self.path}: the checkpoint is damaged ({problem}), so training starts over")
            self.remove()
            return None
        if content is None:
            return None
        tensors, progress = content
        restore_tensors(tensors, optimizer, callbacks)
        return dict(progress)

    def step(self) -> int:
        """Return the number of optimizer steps done at the checkpoint; 0 if there is none or it is damaged."""
        progress = checked_file.read_value(self.path, PROGRESS)
        return int(progress["step"]) if progress else 0

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
