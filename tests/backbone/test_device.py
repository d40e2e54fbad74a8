"""The device of a machine, and what devices lack."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ticketlab.backbone import device
from ticketlab.core.errors import TicketlabError, UsageError


@pytest.fixture
def machine(monkeypatch):
    def make(cuda: bool = False, mps: bool = False, wanted: str = "") -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        monkeypatch.setattr(device, "_has_amx", lambda: True)
        monkeypatch.setenv(device.DEVICE, wanted)

    return make


@pytest.mark.parametrize(
    ("cuda", "mps", "wanted", "kind", "precision"),
    [
        (False, False, "", "cpu", "bf16"),
        (True, False, "", "cuda", "bf16"),
        (False, True, "", "mps", "fp32"),
        (True, True, "", "cuda", "bf16"),
        (True, True, "mps", "mps", "fp32"),
        (True, True, "cpu", "cpu", "bf16"),
    ],
)
def test_the_fastest_device_is_picked_unless_one_is_chosen(machine, cuda, mps, wanted, kind, precision):
    machine(cuda, mps, wanted)
    assert device.pick_device().type == kind
    assert device.pick_precision("auto") == precision
    assert device.pick_precision("fp32") == "fp32"
    assert bool(device.visible_gpus()) == (kind == "cuda" and torch.cuda.device_count() > 0)


@pytest.mark.parametrize("wanted", ["cuda", "tpu"])
def test_a_device_that_is_not_there_is_refused(machine, wanted):
    machine(mps=True, wanted=wanted)
    with pytest.raises(UsageError, match=rf"^TICKETLAB_DEVICE={wanted}: there is no such device here, only `mps` and `cpu`$"):
        device.pick_device()


def test_bf16_is_refused_where_it_is_not_supported(machine):
    machine(mps=True)
    with pytest.raises(UsageError, match="not supported on the device mps; choose fp32, or set TICKETLAB_DEVICE=cpu"):
        device.pick_precision("bf16")


@pytest.mark.parametrize(
    ("problem", "lacks"),
    [
        (
            NotImplementedError("The operator 'aten::kthvalue' is not currently implemented for the MPS device. If"),
            "aten::kthvalue",
        ),
        (TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."), "numbers in double"),
        (RuntimeError("shapes do not match"), ""),
        (ValueError("doesn't support float64"), ""),
    ],
)
def test_what_a_device_lacks_is_said_in_one_line(machine, problem, lacks):
    machine(mps=True)
    found = device.explained(problem)
    assert (found is None) == (not lacks)
    if lacks:
        assert isinstance(found, TicketlabError)
        assert str(found).startswith(f"the device mps lacks {lacks}")


def test_double_precision_and_random_numbers_are_left_to_the_cpu_by_a_device_without_them():
    moved = torch.ones(2)
    on_mps: Any = SimpleNamespace(device=torch.device("mps"), cpu=lambda: moved)
    here = torch.zeros(2)
    assert device.where_float64_works(on_mps) is moved
    assert device.where_float64_works(here) is here
    assert [device.generator_device(torch.device(kind)).type for kind in ("cuda", "mps", "cpu")] == ["cuda", "cpu", "cpu"]
