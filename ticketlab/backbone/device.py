"""The fastest device and precision of this machine, and settings of deterministic and fast computation on it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from ticketlab.core.errors import TicketlabError, UsageError

DEVICE = "TICKETLAB_DEVICE"
"""The environment variable that chooses the device: ``cuda``, ``mps`` or ``cpu``."""
LACKS = re.compile(r"The operator '(?P<operation>[\w:.]+)' is not currently implemented for the MPS device|doesn't support float64")
"""What torch says about an operation or a number format that Apple's GPU lacks."""
WITHOUT_FLOAT64 = ("mps",)
WITHOUT_BF16 = ("mps",)
"""Kinds of devices that lack a number format, or on which it is not tested."""


def pick_device() -> torch.device:
    """Return the device to compute on: an Nvidia GPU, else Apple's (``mps``), else the CPU; or what :data:`DEVICE` says.

    :raises UsageError: :data:`DEVICE` names a device that is unknown or not available.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    wanted = os.environ.get(DEVICE, "")
    if wanted and not available.get(wanted):
        known = " and ".join(f"`{name}`" for name, is_available in available.items() if is_available)
        raise UsageError(f"{DEVICE}={wanted}: there is no such device here, only {known}")
    return torch.device(wanted or next(name for name, is_available in available.items() if is_available))


def visible_gpus() -> list[str]:
    """Return what ``CUDA_VISIBLE_DEVICES`` calls each GPU that this process uses; none if it computes on another device."""
    if pick_device().type != "cuda":
        return []
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    return named or [str(number) for number in range(torch.cuda.device_count())]


def be_deterministic() -> None:
    """Use deterministic algorithms. An operation that has none on this GPU issues a warning; on a CPU all are deterministic."""
    if pick_device().type != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)


def wait_for(device: torch.device) -> None:
    """Wait until the work that is queued on a GPU is done; a CPU has no queue."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def explained(problem: BaseException) -> TicketlabError | None:
    """Return an error that says that a device lacks an operation or a number format, and what to do; None for any other error."""
    found = LACKS.search(str(problem)) if isinstance(problem, (NotImplementedError, TypeError, RuntimeError)) else None
    if found is None:
        return None
    lacks = found["operation"] or "numbers in double precision"
    return TicketlabError(f"the device {pick_device().type} lacks {lacks}: set PYTORCH_ENABLE_MPS_FALLBACK=1, or {DEVICE}=cpu")


def where_float64_works(tensor: Tensor) -> Tensor:
    """Return a tensor where it can be computed with in double precision: on its device, or on the CPU if the device cannot."""
    return tensor.cpu() if tensor.device.type in WITHOUT_FLOAT64 else tensor


def generator_device(device: torch.device) -> torch.device:
    """Return where to draw random numbers for tensors on ``device``: there on CUDA, else on the CPU."""
    return device if device.type == "cuda" else torch.device("cpu")


def remember_shapes() -> None:
    """Enlarge oneDNN's cache of the kernels that it compiles for each shape. Call it before the first forward pass.

    Every layer of a shrunk model has its own shapes, and they differ for each length of a batch. These are more than the 1024 kernels that
    the cache holds by default. Compiling an evicted kernel again takes as long as the multiplication itself.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8192")


def pick_precision(wanted: str) -> Literal["fp32", "bf16"]:
    """Resolve ``auto`` to bf16 if the device multiplies it faster, as GPUs with bf16 and CPUs with AMX tiles do, else to fp32.

    :raises UsageError: bf16 is requested, and the device is one of :data:`WITHOUT_BF16`.
    """
    device = pick_device().type
    if wanted == "bf16" and device in WITHOUT_BF16:
        raise UsageError(f"precision = bf16: not supported on the device {device}; choose fp32, or set {DEVICE}=cpu")
    if wanted == "auto":
        fast = _has_amx() if device == "cpu" else device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return "bf16" if fast else "fp32"
    return "bf16" if wanted == "bf16" else "fp32"


def _has_amx() -> bool:
    supported = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(supported is not None and supported())


@contextlib.contextmanager
def threads(number: int) -> Iterator[None]:
    """Compute with this number of threads during the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
