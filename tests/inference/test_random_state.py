from __future__ import annotations

import pytest
import torch

from ticketlab.inference import random_state


@pytest.mark.parametrize(("gpus", "mps", "expected"), [(0, False, []), (1, False, [0]), (2, True, [0, 1, "mps"])])
def test_states_of_gpus_that_the_machine_lacks_are_not_restored(gpus, mps, expected, monkeypatch):
    restored: list[object] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, index: restored.append(index))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: restored.append("mps"))
    random_state.restore({name: torch.get_rng_state() for name in ("cpu", "cuda0", "cuda1", "mps")})
    assert restored == expected
