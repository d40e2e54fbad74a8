"""The device and the precision that this machine trains fastest with."""

from __future__ import annotations

from typing import Literal

import torch


def pick_device() -> torch.device:
    """Return the GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick_precision(wanted: str) -> Literal["fp32", "bf16"]:
    """Resolve ``auto`` to bf16 where the device multiplies it faster: GPUs with bf16 and CPUs with AMX tiles."""
    if wanted == "auto":
        fast = torch.cuda.is_bf16_supported(including_emulation=False) if torch.cuda.is_available() else _has_amx()
        return "bf16" if fast else "fp32"
    return "bf16" if wanted == "bf16" else "fp32"


def _has_amx() -> bool:
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(supported is not None and supported())
