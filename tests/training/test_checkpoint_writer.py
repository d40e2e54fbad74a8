"""Checkpoints that are written in the background: what they hold, and what happens when a write takes long or fails."""

import threading
from pathlib import Path

import pytest
import torch

from ticketlab.core.errors import OutOfSpace, TrainingDiverged
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.checkpoint_writer import CheckpointWriter
from ticketlab.training.training_progress import TrainingProgress


@pytest.fixture
def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=1.0)


def parameter(optimizer: torch.optim.Optimizer) -> torch.Tensor:
    return optimizer.param_groups[0]["params"][0]


class HeldBack(Checkpoint):
    """A checkpoint that is written when ``released`` is set."""

    released = threading.Event()

    def write(self, tensors, progress):
        assert self.released.wait(30)
        super().write(tensors, progress)


class FullDisk(Checkpoint):
    """A checkpoint that cannot be written."""

    def write(self, tensors, progress):
        raise OutOfSpace("no space left")


def test_a_checkpoint_holds_the_state_at_its_step_while_training_goes_on(tmp_path: Path, optimizer):
    checkpoint, progress = HeldBack(tmp_path / "c.safetensors"), TrainingProgress(step=1, history=[{"step": 1}])
    with CheckpointWriter(checkpoint, in_background=True) as writer:
        writer.save(optimizer, [], progress.to_json())
        with torch.no_grad():
            parameter(optimizer).mul_(5)  # the next step
        progress.history.append({"step": 2})
        progress.add_step(0.5)
        assert not checkpoint.path.exists()
        checkpoint.released.set()
    assert checkpoint.load(optimizer, []) == TrainingProgress(step=1, history=[{"step": 1}]).to_json()
    assert parameter(optimizer).tolist() == [1, 1, 1]


def test_the_last_of_several_checkpoints_remains(tmp_path: Path, optimizer):
    checkpoint = Checkpoint(tmp_path / "c.safetensors")
    with CheckpointWriter(checkpoint, in_background=True) as writer:
        for step in range(5):
            writer.save(optimizer, [], {"step": step})
    assert checkpoint.step() == 4


def train(writer: CheckpointWriter, optimizer: torch.optim.Optimizer, problem: Exception | None = None) -> None:
    """Save a checkpoint and end, with an error of the training if one is given."""
    with writer:
        writer.save(optimizer, [], {"step": 1})
        if problem is not None:
            raise problem


def test_a_failed_write_is_an_error_of_the_end_of_training(tmp_path: Path, optimizer):
    with pytest.raises(OutOfSpace):
        train(CheckpointWriter(FullDisk(tmp_path / "c"), in_background=True), optimizer)


def test_a_failed_write_is_an_error_of_the_next_checkpoint(tmp_path: Path, optimizer):
    with CheckpointWriter(FullDisk(tmp_path / "c"), in_background=True) as writer:
        writer.save(optimizer, [], {"step": 1})
        with pytest.raises(OutOfSpace):
            writer.save(optimizer, [], {"step": 2})


def test_an_error_of_the_training_comes_before_that_of_a_write(tmp_path: Path, optimizer):
    with pytest.raises(TrainingDiverged):
        train(CheckpointWriter(FullDisk(tmp_path / "c"), in_background=True), optimizer, TrainingDiverged("a loss is not finite"))
