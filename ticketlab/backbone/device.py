"""The fastest device and precision of this machine, and settings of deterministic and fast computation on it."""

from __future__ import annotations

import os
from typing import Literal

import torch


def pick_device() -> torch.device:
    """Return the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def be_deterministic() -> None:
    """Use deterministic algorithms. An operation that has none on this GPU issues a warning; on a CPU all are deterministic."""
    if torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)


def remember_shapes() -> None:
    """Enlarge oneDNN's cache of the kernels that it compiles for each shape. Call it before the first forward pass.

    Every layer of a shrunk model has its own shapes, and they differ for each length of a batch. These are more than the 1024 kernels that
    the cache holds by default. Compiling an evicted kernel again takes as long as the multiplication itself.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")


def pick_precision(wanted: str) -> Literal["fp32", "bf16"]:
    """Resolve ``auto`` to bf16 if the device multiplies it faster, as GPUs with bf16 and CPUs with AMX tiles do, else to fp32."""
    if wanted == "auto":
        fast = torch.cuda.is_bf16_supported(including_emulation=False) if torch.cuda.is_available() else _has_amx()
        return "bf16" if fast else "fp32"
    return "bf16" if wanted == "bf16" else "fp32"


def _has_amx() -> bool:
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(supported is not None and supported())
