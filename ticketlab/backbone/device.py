"""The device and the precision that this machine trains fastest with."""

from __future__ import annotations

import os
from typing import Literal

import torch


def pick_device() -> torch.device:
    """Return the GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def be_deterministic() -> None:
    """Ask for algorithms that give the same bits every time; an operation that has none on this GPU warns. The CPU's always do."""
    if torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)


def remember_shapes() -> None:
    """Let oneDNN keep the kernels that it compiles for each shape; to be called before the first forward pass.

    The layers of a shrunk model all have shapes of their own, and each length of a batch has others: more than the thousand that it keeps
    by default, and one that it has forgotten is compiled again, which takes as long as the multiplication.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")


def pick_precision(wanted: str) -> Literal["fp32", "bf16"]:
    """Resolve ``auto`` to bf16 where the device multiplies it faster: GPUs with bf16 and CPUs with AMX tiles."""
    if wanted == "auto":
        fast = torch.cuda.is_bf16_supported(including_emulation=False) if torch.cuda.is_available() else _has_amx()
        return "bf16" if fast else "fp32"
    return "bf16" if wanted == "bf16" else "fp32"


def _has_amx() -> bool:
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(supported is not None and supported())
